// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// node_heaps.h allocates small objects of sites with a NUMA hint. Each place of NodeUnits has an
// arena of the private jemalloc, which its first object creates. A freed object returns to its
// arena, whichever thread frees it. A thread has one cache for the node that it runs on and one for
// a place that hints have named. Objects of other places go straight to their arenas. If no site
// has a hint, or the machine has one node, none of this is created.
#ifndef SMALLOC_SMALL_NODE_HEAPS_H
#define SMALLOC_SMALL_NODE_HEAPS_H

#include "smalloc/small/node_units.h"
#include "smalloc/small/small_heap.h"

namespace smalloc {

class NodeHeaps {
public:
  struct Config {
    const numa::Topology *(*topology)() = nullptr; ///< returns nullptr if no node heap is to serve
    const char *sysfs = "/sys";
    SmallPages::Config pages;
  };
  /// Stores what the first allocation needs.
  void configure(Region &region, const Config &config);
  bool ready() const { return state_.load(std::memory_order_acquire) == HeapState::kReady; }

  /// Returns nullptr if the heap is not available or the hint does not apply. Keeps errno.
  /// REQUIRES: `bytes` and `alignment` of at most a superpage.
  void *allocate(numa::Placement placement, bool superpages, size_t bytes, size_t alignment,
                 bool zero);
  /// REQUIRES: p was returned by allocate() or resize().
  void release(void *p);
  void *resize(void *p, size_t bytes);
  numa::Placement placement_of(const void *p) const {
    return units_.placement_of(units_.place_of(p));
  }

  SmallPages &pages() { return units_.pages(); }
  template <class Visit> void for_each_arena(Visit visit) {
    if (ready())
      for (unsigned k = 0; k < kHeaps; k++)
        if (arena_state_[k].load(std::memory_order_acquire) == HeapState::kReady)
          visit(jepriv_arenas[arenas_[k]]);
  }
  void lock_promotion() { units_.lock_promotion(); }
  void unlock_promotion() { units_.unlock_promotion(); }
  void before_fork_locks(); ///< see SmallHeap
  void lock_all() { units_.lock_all(); }
  void unlock_all() { units_.unlock_all(); }
  void after_fork_in_child();

private:
  static constexpr unsigned kHeaps = 2 * NodeUnits::kPlaces;
  friend struct NodeHooks;
  bool start();
  bool start_arena(unsigned heap);
  unsigned heap_of(const void *p) const {
    return 2 * units_.place_of(p) + units_.may_have_superpages(p);
  }
  int flags_for(unsigned heap, bool by_thread);

  Region *region_ = nullptr;
  Config config_;
  const numa::Topology *topology_ = nullptr;
  std::atomic<HeapState> state_{HeapState::kUninitialised};
  NodeUnits units_;
  std::atomic<HeapState> arena_state_[kHeaps] = {};
  unsigned arenas_[kHeaps] = {};
};

/// The only instance: jemalloc's extent hooks carry no pointer to one.
extern NodeHeaps g_node_heaps;

} // namespace smalloc
#endif
