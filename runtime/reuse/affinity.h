// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// affinity.h measures how similar two histograms are by the Hellinger (Bhattacharyya) affinity: the
// sum over bins of sqrt(p q), 1 for the same distribution, 0 for disjoint ones. Bins are octaves of
// the distance: neighbouring distances, which no TLB distinguishes, count as the same. First
// accesses are a bin of their own.
#pragma once

#include "runtime/reuse/histogram.h"

namespace smalloc::reuse {

/// Returns the affinity; 0 if either histogram is empty.
double hellinger_affinity(const Histogram &a, const Histogram &b);

} // namespace smalloc::reuse
