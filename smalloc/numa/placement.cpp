// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// placement.cpp maps each kind of placement to a policy of the kernel. Partitions meet at superpage
// borders, so that no two nodes use one superpage.
#include "smalloc/numa/placement.h"
#include "smalloc/base/numbers.h"
#include "smalloc/base/units.h"

namespace smalloc::numa {
namespace {

// Values of linux/mempolicy.h. Several preferred nodes need Linux 5.15, weights 6.9.
constexpr int kPreferredPolicy = 1, kInterleavePolicy = 3, kLocalPolicy = 4,
              kPreferredManyPolicy = 5, kWeightedPolicy = 6;
constexpr uint64_t kMostNodeNumber = 1023;

uint64_t bit_of(uint32_t os_node) { return os_node < 64 ? uint64_t{1} << os_node : 0; }

/// Parses "3" or "0,2". Accepts nodes from 64 on, but the bit mask cannot name them.
bool parse_nodes(Text text, uint64_t &nodes) {
  nodes = 0;
  for (size_t from = 0; from <= text.size;) {
    size_t to = from;
    while (to < text.size && text.data[to] != ',')
      to++;
    uint64_t node;
    if (!parse_number(Text(text.data + from, to - from), node) || node > kMostNodeNumber)
      return false;
    nodes |= bit_of(static_cast<uint32_t>(node));
    from = to + 1;
  }
  return true;
}

} // namespace

bool parse_placement(Text text, Placement &placement) {
  constexpr char kPreferredWord[] = "preferred:";
  constexpr size_t kPrefix = sizeof kPreferredWord - 1;
  placement = Placement();
  if (text.size == 0 || text.is("-"))
    return true;
  if (text.is("local"))
    placement.kind = PlacementKind::kLocal;
  else if (text.is("interleave"))
    placement.kind = PlacementKind::kInterleave;
  else if (text.is("weighted"))
    placement.kind = PlacementKind::kWeighted;
  else if (text.is("partition"))
    placement.kind = PlacementKind::kPartition;
  else if (text.size > kPrefix && memcmp(text.data, kPreferredWord, kPrefix) == 0) {
    if (!parse_nodes(Text(text.data + kPrefix, text.size - kPrefix), placement.nodes))
      return false;
    placement.kind = PlacementKind::kPreferred;
  }
  return placement.kind != PlacementKind::kNone;
}

unsigned placed_ranges(const Topology &t, const unsigned *allowed_cpus, Placement placement,
                       size_t bytes, PlacedRange *out) {
  uint64_t with_memory = 0;
  for (unsigned n = 0; n < t.nodes; n++)
    with_memory |= t.has_memory(n) ? bit_of(t.node[n].os_id) : 0;
  switch (placement.kind) {
  case PlacementKind::kNone:
    return 0;
  case PlacementKind::kLocal:
    out[0] = {0, bytes, kLocalPolicy, 0};
    return 1;
  case PlacementKind::kInterleave:
  case PlacementKind::kWeighted:
    out[0] = {0, bytes,
              placement.kind == PlacementKind::kWeighted ? kWeightedPolicy : kInterleavePolicy,
              with_memory};
    return with_memory != 0;
  case PlacementKind::kPreferred:
    out[0] = {0, bytes, kPreferredPolicy, placement.nodes & with_memory};
    if (out[0].nodes & (out[0].nodes - 1))
      out[0].policy = kPreferredManyPolicy;
    return out[0].nodes != 0;
  case PlacementKind::kPartition:
    break;
  }
  unsigned cpus = 0, n = 0;
  for (unsigned i = 0; i < t.nodes; i++)
    cpus += allowed_cpus[i];
  size_t from = 0;
  unsigned before = 0;
  for (unsigned i = 0; i < t.nodes && cpus; i++) {
    before += allowed_cpus[i];
    // Round to the nearest superpage; the last share takes the rest.
    const double share = static_cast<double>(bytes) * before / cpus;
    const size_t to = before == cpus ? bytes
                                     : align_down(static_cast<size_t>(share) + kSuperpageBytes / 2,
                                                  kSuperpageBytes);
    const uint8_t home = t.nearest_memory(i);
    if (to <= from || home == kNoNode)
      continue;
    out[n++] = {from, to - from, kPreferredPolicy, bit_of(t.node[home].os_id)};
    from = to;
  }
  return n;
}

} // namespace smalloc::numa
