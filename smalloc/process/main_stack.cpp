// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// main_stack.cpp computes how far down the stack may be touched: the limit, less a margin for what
// the kernel put above (arguments, environment) and for its guard gap.
#include "smalloc/process/main_stack.h"

#include "smalloc/base/units.h"

#include <alloca.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace smalloc {
namespace {

// The kernel's guard gap below a stack: 256 pages (stack_guard_gap).
constexpr size_t kMargin = size_t{1} << 20;

/// Touches a byte `bytes` below the stack pointer. Moves the stack pointer itself: kernels before
/// 5.0 refuse touches far below it.
__attribute__((noinline)) char *touch_below(size_t bytes) {
  char *lowest = static_cast<char *>(alloca(bytes));
  *const_cast<volatile char *>(lowest) = 0;
  char *result = lowest;
  __asm__ volatile("" : "+r"(result) : : "memory");
  return result;
}

} // namespace

StackRange lengthen_main_stack(size_t most_bytes) {
  if (syscall(SYS_gettid) != getpid())
    return {};
  struct rlimit limit;
  if (getrlimit(RLIMIT_STACK, &limit) != 0)
    return {};
  size_t bytes = most_bytes;
  if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < bytes)
    bytes = static_cast<size_t>(limit.rlim_cur);
  // The limit counts from the upper end of the stack, where arguments and environment lie. They
  // take at most a quarter of it (execve(2)).
  const size_t margin = kMargin + bytes / 4;
  if (bytes <= margin + kMargin)
    return {};
  // Maps as much memory first as a probe. Limits of address space and commitment apply as well, and
  // the kernel kills a program whose stack it may not grow.
  void *probe =
      mmap(nullptr, bytes - margin, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (probe == MAP_FAILED)
    return {nullptr, nullptr, bytes - margin};
  munmap(probe, bytes - margin);
  char *here = static_cast<char *>(__builtin_frame_address(0));
  char *start = touch_below(bytes - margin);
  return {start, here, 0};
}

} // namespace smalloc
