// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// node_heaps.h decides how small objects of sites with a hint are allocated: by an arena of the private jemalloc for each place
// of NodeUnits, made when the first object asks for it. An object goes home when it is freed, whoever frees it: a thread has a
// cache for the place that it runs on and one for a place that hints have named, and what belongs to another place goes
// straight to its arena. Where no site has a hint, or the machine one node, nothing of this exists.
#ifndef SMALLOC_SMALL_NODE_HEAPS_H
#define SMALLOC_SMALL_NODE_HEAPS_H

#include "smalloc/small/node_units.h"
#include "smalloc/small/small_heap.h"

namespace smalloc {

class NodeHeaps {
public:
  struct Config {
    const numa::Topology *(*topology)() =
        nullptr; ///< answers nullptr where nothing is to be served
    const char *sysfs = "/sys";
    SmallPages::Config pages;
  };
  /// Remembers what the first allocation needs.
  void configure(Region &region, const Config &config);
  bool ready() const { return state_.load(std::memory_order_acquire) == HeapState::kReady; }

  /// nullptr: not available, or the hint says nothing here. errno is kept. REQUIRES: bytes and alignment of at most a superpage.
  void *allocate(numa::Placement placement, bool superpages, size_t bytes, size_t alignment,
                 bool zero);
  /// REQUIRES: p is ours.
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
  void before_fork_locks(); ///< as SmallHeap's
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

/// The process has one: jemalloc's hooks carry no pointer of ours.
extern NodeHeaps g_node_heaps;

} // namespace smalloc
#endif
