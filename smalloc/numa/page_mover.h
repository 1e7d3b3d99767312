// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// page_mover.h carries out a plan of the migration policy by move_pages(2), in batches and without
// stopping threads. It checks each page's answer, counts it by reason and reports it to the policy.
// A page that cannot be moved is no error: it may be unmapped, pinned, shared or never touched, and
// the program goes on. Tests replace the kernel by a hook table.
//
// If a superpage could not be split, all its pages stay: move_pages would move the whole of it.
#ifndef SMALLOC_NUMA_PAGE_MOVER_H
#define SMALLOC_NUMA_PAGE_MOVER_H

#include "smalloc/numa/migration_policy.h"

namespace smalloc::numa {

struct MoverHooks {
  /// Acts as move_pages(2) on this process. Returns 0, the number of pages not moved, or a negative
  /// errno value. nodes == nullptr: only reports where the pages are. status: a node, or a negative
  /// errno value.
  long (*move_pages)(unsigned long count, void **pages, const int *nodes, int *status);
  /// Acts as MADV_COLLAPSE. Returns 0 or an errno value.
  int (*collapse)(void *start, size_t bytes);
  uint64_t (*now_ns)();
  /// Acts as split_superpage(). Returns 0 or an errno value.
  int (*split)(void *superpage);
};
extern const MoverHooks kKernelMover;

/// Reasons why a page stayed.
enum MoveFailure {
  kBusy, ///< EBUSY: pinned, locked for I/O, or just being moved by the kernel or another process
  kNoMemory,     ///< ENOMEM: the target node is full
  kShared,       ///< EACCES: mapped by other processes too
  kAbsent,       ///< ENOENT: never touched, or swapped out
  kGone,         ///< EFAULT: unmapped meanwhile, or the zero page
  kNotAllowed,   ///< EPERM, ENODEV, EINVAL, ENOSYS: cpuset, no such node, no such call
  kSplitRefused, ///< splits that failed, and their pages (see the file's opening)
  kOtherFailure
};
inline constexpr unsigned kMoveFailures = 8;
const char *failure_name(MoveFailure failure);

struct MoverCounters {
  uint64_t calls = 0, pages = 0, superpages = 0, splits = 0, collapses = 0, ns = 0;
  uint64_t failures[kMoveFailures] = {};
  uint64_t failed() const {
    uint64_t sum = 0;
    for (uint64_t f : failures)
      sum += f;
    return sum;
  }
};

class PageMover {
public:
  /// Most pages in a call of move_pages(2), which holds the address space's lock while it moves
  /// them. The kernel itself works in pieces of about this size.
  static constexpr unsigned kBatch = 256;

  PageMover(const Topology &topology, const MoverHooks &hooks)
      : topology_(topology), hooks_(hooks) {}

  /// Carries out `n` entries in their order and reports each to the policy. Returns how many were
  /// done. Checks `stop`, if any, before each entry (the process is ending): the entries from there
  /// on count as not done. A batch that has been collected before is still carried out.
  size_t carry_out(MigrationPolicy &policy, const Move *plan, size_t n,
                   const volatile bool *stop = nullptr);
  /// Records where the kernel has the unit's pages. Pages that are not resident keep their home.
  /// Returns how many are resident.
  size_t locate(Unit &unit);
  const MoverCounters &counters() const { return counters_; }

  /// Returns the topology's index of the system's node; kNoNode: not in the topology.
  uint8_t index_of(int os_node) const;
  /// Counts a page that stayed, by the kernel's answer (a negative errno value).
  void fail(long error);

private:
  void run_batch(MigrationPolicy &policy, const Move *const *moves, unsigned n, size_t &done);

  const Topology &topology_;
  const MoverHooks &hooks_;
  MoverCounters counters_;
};

} // namespace smalloc::numa
#endif
