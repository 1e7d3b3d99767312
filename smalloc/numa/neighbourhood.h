// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// neighbourhood.h decides who speaks for a page that was hardly sampled: the smallest aligned block around it, of eight pages
// up to the whole 2 MiB, in which enough was seen; if one node has most of that. A sampler that sees a thousand accesses a
// second cannot see each page of a gigabyte, but data that one node uses lie together.
#ifndef SMALLOC_NUMA_NEIGHBOURHOOD_H
#define SMALLOC_NUMA_NEIGHBOURHOOD_H

#include "smalloc/base/units.h"
#include "smalloc/numa/page_counts.h"

namespace smalloc::numa {

/// Of pages that were hardly sampled each: from so many on all of them together say who uses them. 13 of 16 from one
/// node by chance, if two used them alike: one in a hundred.
inline constexpr unsigned kTellingSamples = 16;

class Neighbourhood {
public:
  /// The kPagesPerUnit pages of a unit; one_user: the share of its accesses from which on a block has one.
  Neighbourhood(const PageCounts *page, unsigned nodes, double one_user);

  /// What a page around there gets on the average, by node. False: too little is known, or there are several users.
  bool around(unsigned page, double *by_node) const;

private:
  static constexpr unsigned kSmallest = 8;
  static constexpr unsigned kLeaves = kPagesPerUnit / kSmallest;
  /// Samples of one page that count for those around it: a hot page among cold ones speaks for itself.
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
