// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// node_units.h assigns a NUMA place to each unit of small objects whose site has a hint. A place is
// one node, or several nodes in turn. A unit serves one place, and either objects that may have
// superpages or objects that may not. So no superpage is shared between nodes. The kernel gets the
// memory policy before the unit is first touched.
#ifndef SMALLOC_SMALL_NODE_UNITS_H
#define SMALLOC_SMALL_NODE_UNITS_H

#include "smalloc/numa/placement.h"
#include "smalloc/small/small_pages.h"

namespace smalloc {

class NodeUnits {
public:
  /// Places: the dense node numbers of the topology come first.
  static constexpr unsigned kInterleaved = numa::kMaxNodes, kWeighted = kInterleaved + 1,
                            kPlaces = kWeighted + 1, kNoPlace = kPlaces;
  struct Config {
    const numa::Topology *topology = nullptr;
    unsigned weight[numa::kMaxNodes] = {}; ///< of kWeighted; 0 counts as 1
    /// Sets a memory policy; see node_policy.h.
    int (*set_policy)(void *start, size_t bytes, int policy, uint64_t nodes) = nullptr;
    SmallPages::Config pages;
  };
  bool init(Region &region, const Config &config);

  /// Returns the place of an object that a thread on node `from` requests (kNoNode: its node is
  /// unknown). kNoPlace: the hint does not apply.
  unsigned place_for(numa::Placement placement, unsigned from) const;
  /// Returns the placement that place_for() turned into `place`, for an object that outgrows its
  /// unit.
  numa::Placement placement_of(unsigned place) const;

  /// Reserves address space for a place. `superpages`: its units may be collapsed.
  char *grow(unsigned place, bool superpages, size_t bytes, size_t alignment);
  /// Returns the place of `p`. REQUIRES: p is in a unit that grow() returned.
  unsigned place_of(const void *p) const { return owners_[unit_of(p)] >> 1; }
  bool may_have_superpages(const void *p) const { return owners_[unit_of(p)] & 1; }

  SmallPages &pages() { return pages_; }
  void lock_promotion() { pages_.lock_promotion(); }
  void unlock_promotion() { pages_.unlock_promotion(); }
  void lock_all() { lock_.lock(), pages_.lock_all(); }
  void unlock_all() { pages_.unlock_all(), lock_.unlock(); }

private:
  UnitIndex unit_of(const void *p) const { return region_->unit_of(Slice::kNode, p); }
  unsigned next_in_turn(bool weighted);
  bool set_policy(char *start, size_t bytes, int policy, uint64_t nodes, unsigned like);

  Region *region_ = nullptr;
  Config config_;
  uint64_t with_memory_ = 0; ///< a bit per node, by the kernel's numbers
  SmallPages pages_;
  uint8_t *owners_ = nullptr; ///< per unit: twice the place, plus one if superpages are allowed
  SpinLock lock_;             ///< guards the turn: last_ and due_
  unsigned last_ = 0;
  int64_t due_[numa::kMaxNodes] = {};
};

} // namespace smalloc
#endif
