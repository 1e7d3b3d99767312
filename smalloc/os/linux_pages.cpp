// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// linux_pages.cpp implements os_hooks.h by Linux system calls. A reservation is PROT_NONE,
// MAP_NORESERVE and MADV_DONTDUMP (without the last a core file had 1.1 TB). A commit is mprotect
// and MADV_DODUMP. The caller must check it: strict overcommit and RLIMIT_DATA refuse at the commit
// and not at the reservation.
#include "smalloc/base/clock.h"
#include "smalloc/base/keep_errno.h"
#include "smalloc/base/numbers.h"
#include "smalloc/base/units.h"
#include "smalloc/files/start_stderr.h"
#include "smalloc/files/system_file.h"
#include "smalloc/files/uncancelled.h"
#include "smalloc/os/hugetlb.h"
#include "smalloc/os/locked_memory.h"
#include "smalloc/os/os_hooks.h"
#include "smalloc/os/own_madvise.h"
#include "smalloc/os/scratch_pages.h"
#include "smalloc/os/unit_contents.h"

#include <atomic>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

#ifndef PR_GET_THP_DISABLE
#define PR_GET_THP_DISABLE 42
#endif
#ifndef PR_SET_THP_DISABLE
#define PR_SET_THP_DISABLE 41
#endif
#ifndef PR_THP_DISABLE_EXCEPT_ADVISED
#define PR_THP_DISABLE_EXCEPT_ADVISED (1 << 1)
#endif

namespace smalloc {
namespace {

int result_of(int status) { return status == 0 ? 0 : errno; }

void *reserve(size_t bytes) {
  KeepErrno keep;
  // Align a big reservation to a part of the address space, 1 GiB or a larger power of two:
  // thread_cache.h finds jemalloc's record of a page by the part in which the page lies.
  constexpr size_t kGiB = size_t{1} << 30;
  constexpr size_t kPartBytes = max_of(kGiB, size_t{1} << SMALLOC_JEMALLOC_PART_SHIFT);
  const size_t alignment = bytes >= 16 * kGiB ? kPartBytes : kSuperpageBytes;
  size_t padded = bytes + alignment;
  void *raw = map_reserved(padded);
  if (raw == MAP_FAILED)
    return nullptr;
  auto start = reinterpret_cast<uintptr_t>(raw);
  uintptr_t aligned = align_up(start, alignment);
  if (aligned != start)
    munmap(raw, aligned - start);
  size_t rest = start + padded - (aligned + bytes);
  if (rest)
    munmap(reinterpret_cast<void *>(aligned + bytes), rest);
  own_madvise(reinterpret_cast<void *>(aligned), bytes, MADV_DONTDUMP);
  return reinterpret_cast<void *>(aligned);
}

int commit(void *start, size_t bytes) {
  KeepErrno keep;
  if (int error = result_of(mprotect(start, bytes, PROT_READ | PROT_WRITE)))
    return error;
  own_madvise(start, bytes, MADV_DODUMP);
  return lock_committed(start, bytes);
}

// Maps anew instead of calling MADV_DONTNEED. Memory that mremap moved here would stay a separate
// mapping for ever. No superpage fits a unit that contains the border of two mappings.
int decommit(void *start, size_t bytes) {
  KeepErrno keep;
  void *p =
      mmap(start, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  int error = p == MAP_FAILED ? errno : 0;
  // At the limit of mappings or of locked memory. Drop the contents by advice for unlocked memory,
  // then for locked memory, then after an unlock.
  if (error) {
    if (own_madvise(start, bytes, MADV_DONTNEED) != 0 &&
        own_madvise(start, bytes, MADV_DONTNEED_LOCKED) != 0 && munlock(start, bytes) == 0)
      own_madvise(start, bytes, MADV_DONTNEED);
    mprotect(start, bytes, PROT_NONE);
  }
  unlock_reserved(start, bytes);
  own_madvise(start, bytes, MADV_DONTDUMP);
  return error;
}

int purge(void *start, size_t bytes) {
  KeepErrno keep;
  const int error = result_of(own_madvise(start, bytes, MADV_DONTNEED));
  return error == EINVAL ? result_of(own_madvise(start, bytes, MADV_DONTNEED_LOCKED)) : error;
}

int advise(void *start, size_t bytes, Advice advice) {
  KeepErrno keep;
  return result_of(
      own_madvise(start, bytes, advice == Advice::kSuperpages ? MADV_HUGEPAGE : MADV_NOHUGEPAGE));
}

int collapse(void *start, size_t bytes) {
  KeepErrno keep;
  return result_of(own_madvise(start, bytes, MADV_COLLAPSE));
}

size_t pages_in_core(const void *start, size_t bytes) {
  unsigned char present[kPagesPerUnit];
  size_t count = 0;
  auto *at = static_cast<const char *>(start);
  for (size_t done = 0; done < bytes;) {
    size_t piece = min_of(bytes - done, kSuperpageBytes);
    if (mincore(const_cast<char *>(at + done), piece, present) != 0)
      return 0;
    for (size_t i = 0; i < piece / kBasePageBytes; i++)
      count += present[i] & 1;
    done += piece;
  }
  return count;
}

/// Argument of ioctl's PAGEMAP_SCAN (Linux 6.7). Debian 12's headers do not declare it.
struct PagemapRegion {
  uint64_t start, end, categories;
};
struct PagemapScan {
  uint64_t size, flags, start, end, walk_end, regions, regions_length, most_pages,
      inverted_categories, all_of, any_of, wanted;
};
constexpr uint64_t kPresent = 1 << 3, kZeroPage = 1 << 5, kHuge = 1 << 6;

/// Returns the number of pages of the range that are present and not the shared zero page, which
/// the kernel maps at a read of untouched memory. Returns a negative number if the kernel does not
/// support PAGEMAP_SCAN.
long pages_with_memory(int pagemap, const char *start, size_t bytes) {
  PagemapRegion regions[64];
  PagemapScan scan = {};
  scan.size = sizeof scan;
  scan.start = reinterpret_cast<uintptr_t>(start);
  scan.end = scan.start + bytes;
  scan.regions = reinterpret_cast<uintptr_t>(regions);
  scan.regions_length = sizeof regions / sizeof *regions;
  scan.inverted_categories = kZeroPage;
  scan.all_of = kPresent | kZeroPage;
  scan.wanted = kPresent;
  uint64_t pages = 0;
  while (scan.start < scan.end) {
    const int found = ioctl(pagemap, _IOWR('f', 16, PagemapScan), &scan);
    if (found < 0)
      return -1;
    for (int i = 0; i < found; i++)
      pages += (regions[i].end - regions[i].start) / kBasePageBytes;
    if (scan.walk_end <= scan.start)
      break;
    scan.start = scan.walk_end;
  }
  return static_cast<long>(pages);
}

/// Returns the number of such pages from the entries of /proc/self/pagemap, for kernels before
/// Linux 6.7. An entry's bit 63 means present; bit 56 means mapped by this process only, which the
/// zero page is not. A page shared with a forked child does not count either.
long pages_mapped_here(int pagemap, const char *start, size_t bytes) {
  constexpr size_t kAtOnce = 64;
  uint64_t entries[kAtOnce];
  const size_t all = bytes / kBasePageBytes;
  long pages = 0;
  for (size_t done = 0; done < all; done += kAtOnce) {
    const size_t count = min_of(all - done, kAtOnce), size = count * sizeof *entries;
    const size_t page = reinterpret_cast<uintptr_t>(start) / kBasePageBytes + done;
    if (uncancelled::pread(pagemap, entries, size, static_cast<off_t>(page * sizeof *entries)) !=
        static_cast<ssize_t>(size))
      return -1;
    for (size_t i = 0; i < count; i++)
      pages += (entries[i] >> 63 & 1) && (entries[i] >> 56 & 1);
  }
  return pages;
}

/// Returns 1 if all of the unit is mapped as a superpage, 0 if not, and a negative number if the
/// kernel does not report it.
int is_mapped_whole(int pagemap, const char *unit) {
  PagemapRegion region;
  PagemapScan scan = {};
  scan.size = sizeof scan;
  scan.start = reinterpret_cast<uintptr_t>(unit);
  scan.end = scan.start + kSuperpageBytes;
  scan.regions = reinterpret_cast<uintptr_t>(&region);
  scan.regions_length = 1;
  scan.all_of = scan.wanted = kHuge;
  const int found = ioctl(pagemap, _IOWR('f', 16, PagemapScan), &scan);
  return found <= 0 ? found : region.end - region.start == kSuperpageBytes;
}

/// Reads the unit's entries in /proc/self/pagemap: bit 63 means present, bit 56 mapped by this
/// process only.
UnitPages unit_pages(const void *unit) {
  KeepErrno keep;
  constexpr size_t kAtOnce = 64;
  const int pagemap = uncancelled::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (pagemap < 0)
    return UnitPages::kUnknown;
  bool known = true, all = true, shared = false;
  uint64_t entries[kAtOnce];
  for (size_t done = 0; done < kPagesPerUnit && known && all && !shared; done += kAtOnce) {
    const size_t page = reinterpret_cast<uintptr_t>(unit) / kBasePageBytes + done;
    known = uncancelled::pread(pagemap, entries, sizeof entries,
                               static_cast<off_t>(page * sizeof *entries)) ==
            static_cast<ssize_t>(sizeof entries);
    for (size_t i = 0; i < kAtOnce && known; i++) {
      all &= entries[i] >> 63 & 1;
      shared |= (entries[i] >> 63 & 1) && !(entries[i] >> 56 & 1);
    }
  }
  UnitPages pages = known ? UnitPages::kPartly : UnitPages::kUnknown;
  if (known && all) {
    const int whole = is_mapped_whole(pagemap, static_cast<const char *>(unit));
    if (shared)
      pages = whole ? UnitPages::kSharedSuperpage : UnitPages::kSharedBasePages;
    else
      pages = whole < 0 ? UnitPages::kOwn : whole ? UnitPages::kSuperpage : UnitPages::kBasePages;
  }
  uncancelled::close(pagemap);
  return pages;
}

/// Returns an upper bound from mincore(), which counts the zero page as resident. From
/// kLeastChecked pages on it checks the bound with pagemap.
size_t resident_pages(const void *start, size_t bytes) {
  KeepErrno keep;
  constexpr size_t kLeastChecked = 16;
  const size_t most = pages_in_core(start, bytes);
  if (most < kLeastChecked)
    return most;
  const int pagemap = uncancelled::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (pagemap < 0)
    return most;
  static std::atomic<bool> scans{true};
  long pages = -1;
  if (scans.load(std::memory_order_relaxed)) {
    pages = pages_with_memory(pagemap, static_cast<const char *>(start), bytes);
    if (pages < 0)
      scans.store(false, std::memory_order_relaxed);
  }
  if (pages < 0)
    pages = pages_mapped_here(pagemap, static_cast<const char *>(start), bytes);
  uncancelled::close(pagemap);
  return pages < 0 ? most : min_of(most, static_cast<size_t>(pages));
}

/// True if the range lies in one mapping. Asks mremap() to grow it by a page in place. Across
/// several mappings that fails with EFAULT; in one mapping it fails otherwise, as there is never
/// room.
bool is_one_mapping(void *start, size_t bytes) {
  KeepErrno keep;
  if (mremap(start, bytes, bytes + kBasePageBytes, 0) == MAP_FAILED)
    return errno != EFAULT;
  munmap(static_cast<char *>(start) + bytes, kBasePageBytes);
  return true;
}

/// Returns how many of the bytes lie in the same mapping as the first byte, by binary search.
size_t bytes_of_mapping(char *start, size_t bytes) {
  if (is_one_mapping(start, bytes))
    return bytes;
  size_t one = 1, several = bytes / kBasePageBytes;
  while (several - one > 1) {
    const size_t middle = one + (several - one) / 2;
    (is_one_mapping(start, middle * kBasePageBytes) ? one : several) = middle;
  }
  return one * kBasePageBytes;
}

/// Moves mapping by mapping. Before Linux 6.17 the kernel refuses to move several mappings at once,
/// and only after it has unmapped the target, where another thread's mapping may appear. Later
/// kernels may move only a part of them. If the kernel refuses a mapping, copies the parts already
/// moved back to `from`.
int move(void *from, void *to, size_t bytes) {
  KeepErrno keep;
  auto *source = static_cast<char *>(from), *target = static_cast<char *>(to);
  for (size_t done = 0; done < bytes;) {
    const size_t piece = bytes_of_mapping(source + done, bytes - done);
    if (mremap(source + done, piece, piece, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP,
               target + done) == MAP_FAILED) {
      const int error = errno;
      memcpy(source, target, done);
      return error;
    }
    done += piece;
  }
  return 0;
}

// Splits by MADV_FREE of the idle page: this splits the superpage itself, and memory dropped
// afterwards returns to the system at once. Without an idle page, creates a border of two mappings
// inside the unit, which makes the kernel map the superpage by base pages. The two mappings then
// become one again, and the base-page mapping stays. The system keeps all 2 MiB together until it
// has to reclaim memory.
int split(void *unit, void *idle_page) {
  KeepErrno keep;
  if (idle_page && own_madvise(idle_page, kBasePageBytes, MADV_FREE) == 0)
    return 0;
  char *middle = static_cast<char *>(unit) + kSuperpageBytes / 2;
  if (int error = result_of(own_madvise(middle, kBasePageBytes, MADV_DONTDUMP)))
    return error;
  return result_of(own_madvise(middle, kBasePageBytes, MADV_DODUMP));
}

int only_advised_superpages() {
  KeepErrno keep;
  return result_of(prctl(PR_SET_THP_DISABLE, 1, PR_THP_DISABLE_EXCEPT_ADVISED, 0, 0));
}

// Reports prctl's value 1 only: since Linux 6.18 a second bit says that advised memory may still
// have superpages.
bool superpages_disabled() {
  KeepErrno keep;
  return prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 1;
}

int unreserve(void *start, size_t bytes) {
  KeepErrno keep;
  return result_of(munmap(start, bytes));
}

// Measures the thread's processor time, which excludes other threads' turns. Where that clock
// counts in ticks, falls back to elapsed time or 1 ns.
uint64_t populate_ns(void *start, size_t bytes) {
  KeepErrno keep;
  const uint64_t began_ns = clock_ns(CLOCK_MONOTONIC), used_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
  if (own_madvise(start, bytes, MADV_POPULATE_WRITE) != 0)
    return 0;
  const uint64_t used = clock_ns(CLOCK_THREAD_CPUTIME_ID) - used_ns;
  return max_of<uint64_t>(min_of(used, clock_ns(CLOCK_MONOTONIC) - began_ns), 1);
}

// Populates an eighth of a superpage and multiplies: the mapped memory counts in the process' peak.
uint64_t first_touch_ns() {
  constexpr size_t kShare = 8, kBytes = kSuperpageBytes / kShare;
  const ScratchPages scratch(kBytes);
  const bool ready = scratch.data() && advise(scratch.data(), kBytes, Advice::kNoSuperpages) == 0;
  return ready ? populate_ns(scratch.data(), kBytes) * kShare : 0;
}

} // namespace

const OsHooks kLinux = {reserve,
                        commit,
                        decommit,
                        purge,
                        advise,
                        collapse,
                        resident_pages,
                        move,
                        open_hugetlb,
                        map_hugetlb,
                        unmap_hugetlb,
                        clock_ns<CLOCK_MONOTONIC>,
                        read_system_file,
                        write_to_start_stderr,
                        split,
                        only_advised_superpages,
                        superpages_disabled,
                        unreserve,
                        populate_ns,
                        first_touch_ns,
                        unit_parts_with_data,
                        is_one_mapping,
                        unit_pages};

ThpMode thp_mode(const OsHooks &os, const char *sysfs_root) {
  char path[320], text[128];
  size_t n = strlen(sysfs_root);
  static const char kFile[] = "/kernel/mm/transparent_hugepage/enabled";
  if (n + sizeof kFile > sizeof path)
    return ThpMode::kAbsent;
  memcpy(path, sysfs_root, n);
  memcpy(path + n, kFile, sizeof kFile);
  if (os.read_file(path, text, sizeof text) <= 0)
    return ThpMode::kAbsent;
  if (strstr(text, "[always]"))
    return ThpMode::kAlways;
  if (strstr(text, "[madvise]"))
    return ThpMode::kMadvise;
  return ThpMode::kNever;
}

uint64_t number_in_file(const OsHooks &os, const char *path, uint64_t fallback) {
  char text[64];
  if (os.read_file(path, text, sizeof text) <= 0 || text[0] < '0' || text[0] > '9')
    return fallback;
  const char *at = text;
  return take_number(at);
}

} // namespace smalloc
