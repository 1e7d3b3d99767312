// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// neighbourhood.cpp sums the counts of a unit's blocks once, from the small blocks to the large.
#include "smalloc/numa/neighbourhood.h"

#include <algorithm>

namespace smalloc::numa {

Neighbourhood::Neighbourhood(const PageCounts *page, unsigned nodes, double one_user)
    : nodes_(nodes), one_user_(one_user) {
  for (unsigned leaf = 0; leaf < kLeaves; leaf++) {
    Block &b = block_[kLeaves + leaf];
    std::fill(b.by_node, b.by_node + nodes, 0.0F);
    b.total = 0;
    b.resident = 0;
    for (unsigned p = leaf * kSmallest; p < (leaf + 1) * kSmallest; p++) {
      b.resident += page[p].home() != kNoNode;
      const auto total = static_cast<float>(page[p].total());
      const float weight = total > kMostOfAPage ? kMostOfAPage / total : 1;
      for (unsigned s = 0; s < PageCounts::kSlots; s++)
        if (page[p].slot_count(s) && page[p].slot_node(s) < nodes) {
          const float count = static_cast<float>(page[p].slot_count(s)) * weight;
          b.by_node[page[p].slot_node(s)] += count;
          b.total += count;
        }
    }
  }
  for (unsigned i = kLeaves - 1; i > 0; i--) {
    const Block &low = block_[2 * i], &high = block_[2 * i + 1];
    for (unsigned n = 0; n < nodes; n++)
      block_[i].by_node[n] = low.by_node[n] + high.by_node[n];
    block_[i].total = low.total + high.total;
    block_[i].resident = low.resident + high.resident;
  }
}

bool Neighbourhood::around(unsigned page, double *by_node) const {
  unsigned i = kLeaves + page / kSmallest;
  while (i > 1 && block_[i].total < kTellingSamples)
    i /= 2;
  const Block &b = block_[i];
  const float most = *std::max_element(b.by_node, b.by_node + nodes_);
  if (b.total < kTellingSamples || most < one_user_ * b.total)
    return false;
  for (unsigned n = 0; n < nodes_; n++)
    by_node[n] = b.by_node[n] / std::max(b.resident, 1u);
  return true;
}

} // namespace smalloc::numa
