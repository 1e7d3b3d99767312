// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// neighbourhood.h estimates the users of a page with hardly any samples from the pages around it.
// It takes the smallest aligned block around the page with enough samples, of eight pages up to the
// whole 2 MiB. The estimate holds if one node has most of the block's samples. A sampler that sees
// a thousand accesses a second cannot see each page of a gigabyte, but data that one node uses lies
// together.
#ifndef SMALLOC_NUMA_NEIGHBOURHOOD_H
#define SMALLOC_NUMA_NEIGHBOURHOOD_H

#include "smalloc/base/units.h"
#include "smalloc/numa/page_counts.h"

namespace smalloc::numa {

/// Samples from which a block of pages shows its user. By chance 13 of 16 come from one of two
/// equal users: one in 47.
inline constexpr unsigned kTellingSamples = 16;

class Neighbourhood {
public:
  /// Sums the counts of a unit's kPagesPerUnit pages. `one_user`: share of its accesses from which
  /// a block has one user.
  Neighbourhood(const PageCounts *page, unsigned nodes, double one_user);

  /// Sets `by_node` to the average accesses of a page around `page`. Returns false if too little is
  /// known or there are several users.
  bool around(unsigned page, double *by_node) const;

private:
  static constexpr unsigned kSmallest = 8;
  static constexpr unsigned kLeaves = kPagesPerUnit / kSmallest;
  /// Most samples of one page that count for those around it: a hot page must not determine its
  /// cold neighbours' home.
  static constexpr unsigned kMostOfAPage = 4;
  /// A binary tree of blocks: 1 is the unit, 2n and 2n + 1 are the halves of n.
  struct Block {
    float by_node[kMaxNodes];
    float total;
    uint32_t resident;
  };
  Block block_[2 * kLeaves];
  unsigned nodes_;
  double one_user_;
};

} // namespace smalloc::numa
#endif
