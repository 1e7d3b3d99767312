// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// node_units.h decides on which node each superpage-sized unit of small objects lies whose site has a hint: units are taken for one
// place (a node, or the nodes in turn) and for objects that may have superpages, or for those that may not; so no
// superpage is shared between nodes. The kernel is told before anybody touches a unit.
#ifndef SMALLOC_SMALL_NODE_UNITS_H
#define SMALLOC_SMALL_NODE_UNITS_H

#include "smalloc/numa/placement.h"
#include "smalloc/small/small_pages.h"

namespace smalloc {

class NodeUnits {
public:
  /// Dense node numbers of the topology come first.
  static constexpr unsigned kInterleaved = numa::kMaxNodes, kWeighted = kInterleaved + 1,
                            kPlaces = kWeighted + 1, kNoPlace = kPlaces;
  struct Config {
    const numa::Topology *topology = nullptr;
    unsigned weight[numa::kMaxNodes] = {}; ///< of kWeighted; 0 counts as 1
    /// node_policy.h
    int (*set_policy)(void *start, size_t bytes, int policy, uint64_t nodes) = nullptr;
    SmallPages::Config pages;
  };
  bool init(Region &region, const Config &config);

  /// Where an object goes that a thread on node `from` asks for (kNoNode: nobody knows where it is). kNoPlace: the hint says
  /// nothing here.
  unsigned place_for(numa::Placement placement, unsigned from) const;
  /// What place_for() was told: for an object that outgrows its unit.
  numa::Placement placement_of(unsigned place) const;

  /// Address space for a place. superpages: its units may be collapsed.
  char *grow(unsigned place, bool superpages, size_t bytes, size_t alignment);
  /// REQUIRES: p is of a unit that grow() has given.
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
  uint64_t with_memory_ = 0; ///< the system's numbers, a bit each
  SmallPages pages_;
  uint8_t *owners_ = nullptr; ///< by unit: twice the place, and one where superpages may be
  SpinLock lock_;             ///< whose turn it is
  unsigned last_ = 0;
  int64_t due_[numa::kMaxNodes] = {};
};

} // namespace smalloc
#endif
