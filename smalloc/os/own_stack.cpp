// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// own_stack.cpp changes the stack by the C library's contexts (makecontext, swapcontext). The
// OwnStack record lies at the lower end of the new stack. Under sanitizers, which follow one stack
// only, the work stays on the caller's stack.
#include "smalloc/os/own_stack.h"

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <ucontext.h>

namespace smalloc {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kMayChange = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
constexpr bool kMayChange = false;
#else
constexpr bool kMayChange = true;
#endif
#else
constexpr bool kMayChange = true;
#endif

constexpr size_t kBytes = size_t{256} << 10; // loading a library may run constructors of others

struct OwnStack {
  ucontext_t here, there;
  void (*work)(void *);
  void *argument;
};

/// Starts the work on the new stack. makecontext passes only ints, so the address comes in halves.
void begin(unsigned high, unsigned low) {
  auto *own = reinterpret_cast<OwnStack *>(static_cast<uintptr_t>(uint64_t{high} << 32 | low));
  own->work(own->argument);
}

} // namespace

void on_own_stack(void (*work)(void *), void *argument, Signals signals) {
  void *memory =
      kMayChange ? mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                 : MAP_FAILED;
  if (memory == MAP_FAILED)
    return work(argument);
  auto *own = static_cast<OwnStack *>(memory);
  own->work = work;
  own->argument = argument;
  const uint64_t address = reinterpret_cast<uintptr_t>(memory);
  if (getcontext(&own->there) == 0) {
    own->there.uc_stack.ss_sp = own + 1;
    own->there.uc_stack.ss_size = kBytes - sizeof *own;
    own->there.uc_link = &own->here;
    if (signals == Signals::kBlocked)
      sigfillset(&own->there.uc_sigmask);
    makecontext(&own->there, reinterpret_cast<void (*)()>(begin), 2,
                static_cast<unsigned>(address >> 32), static_cast<unsigned>(address));
    swapcontext(&own->here, &own->there);
  } else {
    work(argument);
  }
  munmap(memory, kBytes);
}

} // namespace smalloc
