// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// page_mover.h decides how a plan of the migration policy is carried out by move_pages(2): in batches,
// without stopping threads, each page's answer looked at, counted by reason and told to the policy. A
// page that cannot be moved is no error: it may be unmapped, pinned, shared or never touched, and
// the program goes on as before. The kernel comes in by a hook table, so that tests can answer for it.
//
// A superpage that could not be split is left alone with all its pages: move_pages would take the whole of it along.
#ifndef SMALLOC_NUMA_PAGE_MOVER_H
#define SMALLOC_NUMA_PAGE_MOVER_H

#include "smalloc/numa/migration_policy.h"

namespace smalloc::numa {

struct MoverHooks {
  /// As move_pages(2) on this process: 0, the number of pages not moved, or a negative errno value.
  /// nodes == nullptr: only ask where they are. status: a node, or a negative errno value.
  long (*move_pages)(unsigned long count, void **pages, const int *nodes, int *status);
  /// As MADV_COLLAPSE: 0 or an errno value.
  int (*collapse)(void *start, size_t bytes);
  uint64_t (*now_ns)();
  /// As split_superpage(): 0 or an errno value.
  int (*split)(void *superpage);
};
extern const MoverHooks kKernelMover;

/// Why a page stayed.
enum MoveFailure {
  kBusy,         ///< EBUSY: pinned, locked for I/O, just being moved by somebody else
  kNoMemory,     ///< ENOMEM: the target node is full
  kShared,       ///< EACCES: mapped by other processes too
  kAbsent,       ///< ENOENT: never touched, or swapped out
  kGone,         ///< EFAULT: unmapped meanwhile, or the zero page
  kNotAllowed,   ///< EPERM, ENODEV, EINVAL, ENOSYS: cpuset, no such node, no such call
  kSplitRefused, ///< splits that did not work, and their pages: see above
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
  /// Most pages a call: what a call holds the address space's lock for at a time. The kernel works in pieces
  /// of about as many itself.
  static constexpr unsigned kBatch = 256;

  PageMover(const Topology &topology, const MoverHooks &hooks)
      : topology_(topology), hooks_(hooks) {}

  /// Carries out n entries in their order and tells the policy of each. Returns how many were done. stop, if any,
  /// is looked at between batches (the process is ending): the rest counts as not done.
  size_t carry_out(MigrationPolicy &policy, const Move *plan, size_t n,
                   const volatile bool *stop = nullptr);
  /// Asks the kernel where the unit's pages are, and writes it down. Pages that are nowhere keep their home.
  /// Returns how many are resident.
  size_t locate(Unit &unit);
  const MoverCounters &counters() const { return counters_; }

  /// Our number of the system's node; kNoNode: not one of ours.
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
