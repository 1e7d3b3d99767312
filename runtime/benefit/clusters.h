// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// clusters.h groups sites that belong together (Cascaval et al. 2005, future work: dynamic
// categories by access frequency and affinity). The similarity of two sites is
//
//   affinity(a, b) x sqrt(min(f_a, f_b) / max(f_a, f_b))
//
// where affinity is the Hellinger affinity of their accesses over time (1: always in the same
// windows, in the same proportion; 0: never together). f is how often each byte is accessed: hot
// data beside cold data wastes superpages.
// Sites are joined by average linkage, the most similar first. Joining stops before the widest gap
// between one similarity and the next; 1 and 0 are the ends. So the number of clusters comes from
// the data.
//
// The same accesses give the same clusters. O(sites^2) for each window and the sites in it;
// O(sites^3) in the end.
#pragma once

#include <cstddef>
#include <vector>

namespace smalloc::benefit {

/// Affinity of members by the windows in which they are accessed.
class Affinity {
public:
  explicit Affinity(size_t members)
      : members_(members), in_window_(members), all_(members), together_(members * members) {}

  void access(size_t member, double accesses) {
    if (in_window_[member] == 0)
      present_.push_back(member);
    in_window_[member] += accesses;
  }
  void end_window();

  size_t members() const { return members_; }
  double accesses(size_t member) const { return all_[member]; }
  /// Returns the affinity, 0 to 1; 1 of a member with itself.
  double of(size_t a, size_t b) const;

private:
  size_t members_;
  std::vector<double> in_window_, all_;
  std::vector<size_t> present_;
  std::vector<double> together_; ///< sum over windows of sqrt(accesses of a x accesses of b)
};

/// Returns each member's cluster: 0, 1, ... in the order of their first members. bytes[member]:
/// bytes that its accesses fall on. apart[member]: its group; members of different groups are never
/// joined.
std::vector<size_t> clusters_of(const Affinity &affinity, const std::vector<double> &bytes,
                                const std::vector<int> &apart);

} // namespace smalloc::benefit
