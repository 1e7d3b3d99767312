// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "smalloc/os/unit_contents.h"
#include "smalloc/base/keep_errno.h"
#include "smalloc/base/units.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

namespace smalloc {
namespace {
constexpr size_t kSamples = kUnitParts, kSampleBytes = kCacheLineBytes,
                 kPagesPerSample = kPagesPerUnit / kSamples;

/// Returns the offset of sample `i` in the unit. Samples lie at no fixed distance: a program that
/// touches every 32nd page must not look like one that touches all. The last sample lies in the
/// last page, which a program that fills upwards writes last.
size_t sample_offset(size_t i) {
  constexpr size_t kLinesPerPage = kBasePageBytes / kSampleBytes;
  const size_t page = i * kPagesPerSample + (i + 1) * 13 % kPagesPerSample;
  return (i + 1 == kSamples ? kPagesPerUnit - 1 : page) * kBasePageBytes +
         i * 5 % kLinesPerPage * kSampleBytes;
}

bool all_in_core(const void *unit) {
  unsigned char present[kPagesPerUnit];
  if (mincore(const_cast<void *>(unit), kSuperpageBytes, present) != 0)
    return false;
  unsigned char all = 1;
  for (const unsigned char page : present)
    all &= page;
  return all != 0;
}
} // namespace

// Lets the kernel copy the bytes (process_vm_readv(2)): the program may have made the memory
// unreadable (mprotect), and a read of an absent page would map the zero page. Returns 0 under a
// seccomp filter, which may kill a process for this call.
unsigned unit_parts_with_data(const void *unit) {
  KeepErrno keep;
  if (!all_in_core(unit) || prctl(PR_GET_SECCOMP) != 0)
    return 0;
  char copy[kSamples][kSampleBytes];
  iovec from[kSamples], to = {copy, sizeof copy};
  for (size_t i = 0; i < kSamples; i++)
    from[i] = {const_cast<char *>(static_cast<const char *>(unit)) + sample_offset(i),
               kSampleBytes};
  if (process_vm_readv(getpid(), &to, 1, from, kSamples, 0) != static_cast<ssize_t>(sizeof copy))
    return 0;
  static const char kZero[kSampleBytes] = {};
  unsigned parts = 0;
  for (size_t i = 0; i < kSamples; i++)
    parts |= unsigned{memcmp(copy[i], kZero, kSampleBytes) != 0} << i;
  return parts;
}

} // namespace smalloc
