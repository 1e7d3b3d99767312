// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// clusters.h decides which sites belong together (Cascaval et al. 2005, future work: dynamic categories by access frequency and
// affinity). Two sites are alike
//
//   affinity(a, b) x sqrt(min(f_a, f_b) / max(f_a, f_b))
//
// where affinity is the Hellinger affinity of their accesses over time (1: always in the same windows, in the same proportion; 0:
// never together), and f how often each byte is accessed: what is hot beside what is cold wastes superpages.
// Sites are joined by average linkage, the most alike first, and the joining stops before the widest gap between one
// likeness and the next, 1 and 0 being the ends: so their number comes from the data.
//
// The same accesses give the same clusters. O(sites^2) a window, of the sites in it; O(sites^3) in the end.
#pragma once

#include <cstddef>
#include <vector>

namespace smalloc::benefit {

/// Who is accessed in the same windows.
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
  /// 0 to 1; 1 of a member with itself.
  double of(size_t a, size_t b) const;

private:
  size_t members_;
  std::vector<double> in_window_, all_;
  std::vector<size_t> present_;
  std::vector<double> together_; ///< sum over windows of sqrt(accesses of a x accesses of b)
};

/// bytes[member]: what its accesses fall on. apart[member]: members of different groups are never joined.
/// Returns each member's cluster: 0, 1, ... in the order of their first members.
std::vector<size_t> clusters_of(const Affinity &affinity, const std::vector<double> &bytes,
                                const std::vector<int> &apart);

} // namespace smalloc::benefit
