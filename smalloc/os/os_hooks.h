// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// os_hooks.h is the table of functions by which libsmalloc calls the operating system. Unit tests
// replace the table to answer instead of the kernel and to inject its failures. Every function
// keeps errno; unless it says otherwise, it returns 0 or an errno value. Ranges are multiples of
// the base page unless said otherwise.
#ifndef SMALLOC_OS_OS_HOOKS_H
#define SMALLOC_OS_OS_HOOKS_H

#include "smalloc/base/units.h"

#include <stddef.h>
#include <stdint.h>

namespace smalloc {

enum class Advice { kSuperpages, kNoSuperpages };
/// Kind of pages behind a unit. Shared: a process that a fork has made shares part or all of it.
enum class UnitPages : uint8_t {
  kUnknown,
  kPartly, ///< not all of it is resident
  kSuperpage,
  kSharedSuperpage,
  kBasePages,
  kSharedBasePages,
  kOwn, ///< not shared; the kernel does not report which kind (before Linux 6.7)
};
enum class ThpMode { kAbsent, kNever, kMadvise, kAlways };
/// Returns the mode in one word, as statistics print it.
const char *thp_name(ThpMode mode);

struct OsHooks {
  /// Reserves address space without memory, left out of core dumps and aligned to a superpage.
  /// Returns nullptr if refused.
  void *(*reserve)(size_t bytes);
  /// Makes a reserved range readable, writable and part of core dumps. ENOMEM: strict overcommit or
  /// RLIMIT_DATA.
  int (*commit)(void *start, size_t bytes);
  /// Drops the contents and makes the range inaccessible again, as it was reserved: without advice.
  int (*decommit)(void *start, size_t bytes);
  /// Drops the contents and keeps the range usable; it then reads as zero. EINVAL: the memory is
  /// locked and its contents stay.
  int (*purge)(void *start, size_t bytes);
  /// Advises superpages or base pages for the range (MADV_HUGEPAGE, MADV_NOHUGEPAGE).
  int (*advise)(void *start, size_t bytes, Advice advice);
  /// Turns the base pages of a whole unit into a superpage, in place. EINVAL, EAGAIN, ENOMEM,
  /// EBUSY: the unit stays as it is.
  int (*collapse)(void *start, size_t bytes);
  /// Returns the number of resident base pages of a range; 0 if the kernel does not report it.
  size_t (*resident_pages)(const void *start, size_t bytes);
  /// Moves the pages of a range to another committed range of the reservation; superpages move
  /// whole. The old range stays mapped and empty.
  int (*move)(void *from, void *to, size_t bytes);
  /// Makes a hugetlb pool usable. ENOENT: libhugetlbfs is not installed; EINVAL: the kernel has no
  /// pages of this size. Allocates (dlopen): never call it with a lock held or from within malloc.
  int (*open_hugetlb)(size_t page_bytes);
  /// Replaces a committed range of whole pages by populated pages of the pool. On failure the range
  /// is committed and empty. ENOMEM: the pool has too few pages; EFAULT: a cgroup's limit forbids
  /// them. unmap_hugetlb returns the pages and leaves the range decommitted.
  int (*map_hugetlb)(void *start, size_t bytes, size_t page_bytes);
  int (*unmap_hugetlb)(void *start, size_t bytes);
  /// Returns CLOCK_MONOTONIC in nanoseconds.
  uint64_t (*now_ns)();
  /// Reads at most capacity - 1 bytes of a file and adds a zero byte. Returns the number of bytes
  /// read; negative if the file is not readable.
  long (*read_file)(const char *path, char *buffer, size_t capacity);
  /// Writes to standard error if it is still the file of the process' start.
  void (*write_error)(const char *text, size_t bytes);
  /// Maps a superpage by base pages from now on. Nothing moves, and other threads may use it
  /// meanwhile. `idle_page`: a page of it whose contents may be lost, or nullptr.
  int (*split)(void *unit, void *idle_page);
  /// Restricts transparent superpages to advised memory, for this process and its children
  /// (PR_THP_DISABLE_EXCEPT_ADVISED, Linux 6.18). EINVAL: the kernel cannot.
  int (*only_advised_superpages)();
  /// True if this process may have no transparent superpage, whatever the administrator's switches
  /// say (PR_SET_THP_DISABLE, which children inherit).
  bool (*superpages_disabled)();
  /// Returns a part of the reservation to the process' address space, where anything may be mapped.
  int (*unreserve)(void *start, size_t bytes);
  /// Populates a range with pages and leaves its contents unchanged (MADV_POPULATE_WRITE, Linux
  /// 5.14). Returns the processor time that this took the calling thread, in ns. Returns 0 if the
  /// kernel cannot or there is no memory.
  uint64_t (*populate_ns)(void *start, size_t bytes);
  /// Measures the first touch of one superpage's worth of base pages, in ns, in memory that it maps
  /// and returns. Returns 0 if it cannot measure.
  uint64_t (*first_touch_ns)();
  /// Returns a bit for each of the unit's kUnitParts parts that the program has written; the first
  /// part's is the lowest. Checks one cache line of one page of each part for a byte other than
  /// zero. Returns 0 if a page of the unit is not resident, or the kernel does not report that.
  /// Returns 0 also if the program has made the memory unreadable, or is under a seccomp filter.
  unsigned (*parts_with_data)(const void *unit);
  /// True if the range lies in one mapping of the process; then all of its pages have the same
  /// attributes. True also where the kernel does not report it.
  bool (*is_one_mapping)(void *start, size_t bytes);
  /// Returns the kind of pages behind a unit. Cost: 10 us, less for a shared unit. A shared unit
  /// counts as a superpage if the kernel reports no more.
  UnitPages (*unit_pages)(const void *unit);

  /// True if `parts`, a result of parts_with_data(), has three quarters of the unit's parts. The
  /// others may hold zeros.
  static bool are_most(unsigned parts) {
    return __builtin_popcount(parts) >= static_cast<int>(kUnitParts * 3 / 4);
  }
  /// True if the program has written most parts of the unit, as far as the samples show.
  bool holds_most_data(const void *unit) const { return are_most(parts_with_data(unit)); }
  /// True if the program has written all kUnitParts parts of the unit, as far as the samples show.
  bool holds_data(const void *unit) const {
    return parts_with_data(unit) == (1u << kUnitParts) - 1;
  }
};

/// Implements the table by Linux system calls.
extern const OsHooks kLinux;

/// Returns the administrator's setting of transparent huge pages. `sysfs_root`: "/sys", or a test's
/// copy of it.
ThpMode thp_mode(const OsHooks &os, const char *sysfs_root);
/// Returns the decimal number at the beginning of a file such as /proc/sys/vm/max_map_count, or
/// `fallback` if it cannot read one.
uint64_t number_in_file(const OsHooks &os, const char *path, uint64_t fallback);

} // namespace smalloc
#endif
