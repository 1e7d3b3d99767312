// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// page_backing.cpp calls PAGEMAP_SCAN, which Debian 12's headers do not declare, and madvise().
#include "smalloc/numa/page_backing.h"
#include "smalloc/base/keep_errno.h"
#include "smalloc/base/units.h"
#include "smalloc/files/uncancelled.h"
#include "smalloc/os/own_madvise.h"

#include <atomic>
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_COLD
#define MADV_COLD 20
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

namespace smalloc::numa {
namespace {

struct ScanRegion {
  uint64_t start, end, categories;
};
struct ScanArgument {
  uint64_t size, flags, start, end, walk_end, regions, region_count, most_pages, inverted, mask,
      any_of, returned;
};
constexpr unsigned long kPagemapScan = _IOWR('f', 16, ScanArgument);
/// Units that are advised against superpages now. It still counts those that were unmapped
/// meanwhile: the number serves as a limit only.
std::atomic<unsigned> g_advised{0};
constexpr uint64_t kIsPresent = 1u << 3, kIsHuge = 1u << 6;

} // namespace

Backing backing_of(uintptr_t address) {
  KeepErrno keep;
  const int fd = uncancelled::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return Backing::kUnknown;
  ScanRegion region = {};
  ScanArgument scan = {};
  scan.size = sizeof scan;
  scan.start = address;
  scan.end = address + kSuperpageBytes;
  scan.regions = reinterpret_cast<uintptr_t>(&region);
  scan.region_count = 1;
  scan.mask = kIsPresent | kIsHuge;
  scan.returned = kIsHuge;
  const int found = ioctl(fd, kPagemapScan, &scan);
  uncancelled::close(fd);
  if (found < 0)
    return Backing::kUnknown;
  return found == 1 && region.start == address && region.end == address + kSuperpageBytes
             ? Backing::kSuperpage
             : Backing::kPages;
}

int split_superpage(void *address) {
  KeepErrno keep;
  // Advise before the split: khugepaged may be scanning the unit.
  const bool advised = g_advised.load() < kMostAdvised &&
                       own_madvise(address, kSuperpageBytes, MADV_NOHUGEPAGE) == 0;
  int error = own_madvise(address, kBasePageBytes, MADV_COLD) == 0 ? 0 : errno;
  if (!error && backing_of(reinterpret_cast<uintptr_t>(address)) == Backing::kSuperpage)
    error = EBUSY;
  if (advised && error)
    own_madvise(address, kSuperpageBytes, MADV_HUGEPAGE);
  else if (advised)
    g_advised++;
  return error;
}

int join_pages(void *start, size_t bytes) {
  KeepErrno keep;
  if (own_madvise(start, bytes, MADV_HUGEPAGE) == 0 && g_advised.load() > 0)
    g_advised--;
  return own_madvise(start, bytes, MADV_COLLAPSE) == 0 ? 0 : errno;
}

} // namespace smalloc::numa
