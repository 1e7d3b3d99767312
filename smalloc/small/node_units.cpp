// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// node_units.cpp distributes units over nodes for places with several nodes. They take turns unit
// by unit: a superpage has one node, and a collapse would put all interleaved pages of a unit on
// one. The kernel interleaves units that stay on base pages, page by page.
#include "smalloc/small/node_units.h"

namespace smalloc {
namespace {
constexpr int kPreferredPolicy = 1, kInterleavePolicy = 3, kWeightedPolicy = 6; // linux/mempolicy.h
uint64_t bit_of(uint32_t os_node) { return os_node < 64 ? uint64_t{1} << os_node : 0; }
} // namespace

bool NodeUnits::init(Region &region, const Config &config) {
  region_ = &region;
  config_ = config;
  config_.pages.base = Slice::kNode;
  with_memory_ = 0;
  for (unsigned n = 0; n < config.topology->nodes; n++)
    with_memory_ |= config.topology->has_memory(n) ? bit_of(config.topology->node[n].os_id) : 0;
  owners_ = static_cast<uint8_t *>(region.table(region.slice_units(Slice::kNode)));
  return owners_ && with_memory_ && pages_.init(region, config_.pages);
}

unsigned NodeUnits::place_for(numa::Placement placement, unsigned from) const {
  const numa::Topology &t = *config_.topology;
  switch (placement.kind) {
  case numa::PlacementKind::kNone:
    break;
  case numa::PlacementKind::kInterleave:
    return kInterleaved;
  case numa::PlacementKind::kWeighted:
    return kWeighted;
  case numa::PlacementKind::kLocal:
  case numa::PlacementKind::
      kPartition: // too small to be divided: the share belongs to the requesting thread
    if (from < t.nodes) {
      const uint8_t home = t.nearest_memory(from);
      return home == numa::kNoNode ? kNoPlace : home;
    }
    break;
  case numa::PlacementKind::kPreferred: {
    unsigned best = kNoPlace;
    for (unsigned n = 0; n < t.nodes; n++)
      if (t.has_memory(n) && (placement.nodes & bit_of(t.node[n].os_id)) &&
          (best == kNoPlace || (from < t.nodes && t.latency(from, n) < t.latency(from, best))))
        best = n;
    return best;
  }
  }
  return kNoPlace;
}

numa::Placement NodeUnits::placement_of(unsigned place) const {
  if (place == kInterleaved)
    return {numa::PlacementKind::kInterleave, 0};
  if (place == kWeighted)
    return {numa::PlacementKind::kWeighted, 0};
  return {numa::PlacementKind::kPreferred, bit_of(config_.topology->node[place].os_id)};
}

/// Returns the next node. Each node gets turns in proportion to its weight, spread as evenly as
/// possible.
unsigned NodeUnits::next_in_turn(bool weighted) {
  const numa::Topology &t = *config_.topology;
  SpinGuard guard(lock_);
  if (!weighted) {
    do
      last_ = (last_ + 1) % t.nodes;
    while (!t.has_memory(last_));
    return last_;
  }
  unsigned best = kNoPlace;
  int64_t sum = 0;
  for (unsigned n = 0; n < t.nodes; n++) {
    if (!t.has_memory(n))
      continue;
    const auto weight = static_cast<int64_t>(max_of(config_.weight[n], 1u));
    sum += weight;
    due_[n] += weight;
    if (best == kNoPlace || due_[n] > due_[best])
      best = n;
  }
  due_[best] -= sum;
  return best;
}

/// Sets the memory policy of new units. A policy of its own needs a mapping of its own, unless the
/// previous unit has the same. If no mapping can be charged, the memory lies on the node of its
/// first touch.
bool NodeUnits::set_policy(char *start, size_t bytes, int policy, uint64_t nodes, unsigned like) {
  const UnitIndex unit = unit_of(start);
  const bool borders = unit == 0 || owners_[unit - 1] != like;
  if (borders && !region_->charge_mappings(1))
    return false;
  if (config_.set_policy(start, bytes, policy, nodes) == 0)
    return true;
  if (borders)
    region_->uncharge_mappings(1);
  return false;
}

char *NodeUnits::grow(unsigned place, bool superpages, size_t bytes, size_t alignment) {
  char *p = pages_.grow(bytes, alignment, 1, superpages);
  if (!p)
    return nullptr;
  const numa::Topology &t = *config_.topology;
  const auto owner = static_cast<uint8_t>(place << 1 | superpages);
  const UnitIndex first = unit_of(p), units = static_cast<UnitIndex>(units_for(bytes));
  for (UnitIndex i = 0; i < units; i++)
    __atomic_store_n(&owners_[first + i], owner, __ATOMIC_RELAXED);
  const size_t all = units * kSuperpageBytes;
  Counter &refused = region_->counters().node_policies_refused;
  if (place < kInterleaved) {
    refused.add(!set_policy(p, all, kPreferredPolicy, bit_of(t.node[place].os_id), owner));
  } else if (!superpages) {
    refused.add(!set_policy(p, all, place == kWeighted ? kWeightedPolicy : kInterleavePolicy,
                            with_memory_, owner));
  } else {
    for (UnitIndex i = 0; i < units; i++)
      refused.add(!set_policy(p + i * kSuperpageBytes, kSuperpageBytes, kPreferredPolicy,
                              bit_of(t.node[next_in_turn(place == kWeighted)].os_id),
                              UINT8_MAX)); // its neighbour has another node
  }
  return p;
}

} // namespace smalloc
