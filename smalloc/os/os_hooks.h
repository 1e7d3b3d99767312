// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// os_hooks.h decides everything that the allocator may ask of the operating system: one table of
// functions, so that unit tests can answer instead of the kernel and inject its failures. Every
// function keeps errno and reports 0 or an errno value. Ranges are multiples of the base page
// unless said otherwise.
#ifndef SMALLOC_OS_OS_HOOKS_H
#define SMALLOC_OS_OS_HOOKS_H

#include "smalloc/base/units.h"

#include <stddef.h>
#include <stdint.h>

namespace smalloc {

enum class Advice { kSuperpages, kNoSuperpages };
/// What lies behind a unit. Shared: with a process that a fork has made, in part or all of it.
enum class UnitPages : uint8_t {
  kUnknown,
  kPartly, ///< not all of it is resident
  kSuperpage,
  kSharedSuperpage,
  kBasePages,
  kSharedBasePages,
  kOwn, ///< not shared; the kernel does not tell which (before Linux 6.7)
};
enum class ThpMode { kAbsent, kNever, kMadvise, kAlways };
/// Returns the mode in one word, as statistics print it.
const char *thp_name(ThpMode mode);

struct OsHooks {
  /// Address space without memory behind it, left out of core dumps, aligned to a superpage;
  /// nullptr when refused.
  void *(*reserve)(size_t bytes);
  /// Makes a reserved range readable and writable and part of core dumps. ENOMEM: strict overcommit
  /// or RLIMIT_DATA.
  int (*commit)(void *start, size_t bytes);
  /// Drops the contents and makes the range inaccessible again, as it was reserved: without advice.
  int (*decommit)(void *start, size_t bytes);
  /// Drops the contents, keeps the range usable (it reads as zero). EINVAL: locked memory, contents
  /// are kept.
  int (*purge)(void *start, size_t bytes);
  int (*advise)(void *start, size_t bytes, Advice advice);
  /// Turns the base pages of a whole unit into a superpage, in place. EINVAL, EAGAIN, ENOMEM,
  /// EBUSY: it stays as it is.
  int (*collapse)(void *start, size_t bytes);
  /// Number of resident base pages of a range; 0 when the kernel does not tell.
  size_t (*resident_pages)(const void *start, size_t bytes);
  /// Moves the pages of a range to another committed range of the reservation (superpages move
  /// whole); the old range stays mapped and empty.
  int (*move)(void *from, void *to, size_t bytes);
  /// Makes a hugetlb pool usable. ENOENT: libhugetlbfs is not installed; EINVAL: the kernel has no
  /// pages of this size. Allocates (dlopen): never called with a lock held or from within malloc.
  int (*open_hugetlb)(size_t page_bytes);
  /// Replaces a committed range of whole pages by pages of the pool, populated; on failure the range
  /// is committed and empty. ENOMEM: the pool has not so many; EFAULT: it has, but a cgroup's limit
  /// forbids them. unmap_hugetlb gives them back and leaves the range decommitted.
  int (*map_hugetlb)(void *start, size_t bytes, size_t page_bytes);
  int (*unmap_hugetlb)(void *start, size_t bytes);
  uint64_t (*now_ns)();
  /// Reads at most capacity - 1 bytes of a file and terminates them. Returns their number,
  /// negative: not readable.
  long (*read_file)(const char *path, char *buffer, size_t capacity);
  /// To standard error, if it is still that of the process' start.
  void (*write_error)(const char *text, size_t bytes);
  /// Maps a superpage by base pages from now on; nothing moves, other threads may use it meanwhile.
  /// idle_page: a page of it whose contents may be lost, or nullptr.
  int (*split)(void *unit, void *idle_page);
  /// From now on only advised memory of this process and its children gets transparent superpages
  /// (PR_THP_DISABLE_EXCEPT_ADVISED, Linux 6.18). EINVAL: the kernel cannot.
  int (*only_advised_superpages)();
  /// May this process have no transparent superpage, whatever the administrator's switches say? (PR_SET_THP_DISABLE, which
  /// children inherit.)
  bool (*superpages_disabled)();
  /// Gives a part of the reservation back: it is the process' address space again, where anything may be mapped.
  int (*unreserve)(void *start, size_t bytes);
  /// Gives a range of the process its pages, without a change of its contents (MADV_POPULATE_WRITE, Linux 5.14). Returns how much of
  /// its processor time that took the calling thread; 0: the kernel cannot, or there is no memory.
  uint64_t (*populate_ns)(void *start, size_t bytes);
  /// What a superpage's worth of base pages takes, in memory that is mapped for it and given back. 0: cannot be found out.
  uint64_t (*first_touch_ns)();
  /// Which of the unit's kUnitParts parts the program has written, a bit for each, the first one's the lowest: a
  /// page of each part is asked whether a cache line of it holds a byte other than zero. 0 if a page of the unit
  /// is not resident, the kernel does not tell, or the program has made the memory unreadable.
  unsigned (*parts_with_data)(const void *unit);
  /// Does the range lie in one mapping of the process? Then all of its pages have the same attributes.
  /// True also where the kernel does not tell.
  bool (*is_one_mapping)(void *start, size_t bytes);
  /// What backs a unit. Cost: 10 us, less of a shared one. A shared one of which the kernel does not tell
  /// more counts as a superpage.
  UnitPages (*unit_pages)(const void *unit);

  /// The program has written the unit, not only its first page.
  bool holds_data(const void *unit) const {
    return parts_with_data(unit) == (1u << kUnitParts) - 1;
  }
};

/// The kernel.
extern const OsHooks kLinux;

/// How the system's administrator set transparent huge pages. root: "/sys", or where a test keeps
/// its own copy.
ThpMode thp_mode(const OsHooks &os, const char *sysfs_root);
/// A decimal number in a file such as /proc/sys/vm/max_map_count; fallback when it cannot be read.
uint64_t number_in_file(const OsHooks &os, const char *path, uint64_t fallback);

} // namespace smalloc
#endif
