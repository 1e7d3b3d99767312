// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// affinity.h decides how like each other two histograms are: the Hellinger (Bhattacharyya) affinity, the sum over bins of
// sqrt(p q), 1 for the same distribution, 0 for disjoint ones. Bins are octaves of the distance, so that neighbouring
// distances, which no TLB tells apart, count as the same; first accesses are a bin of their own.
#pragma once

#include "runtime/reuse/histogram.h"

namespace smalloc::reuse {

/// 0 when either is empty.
double hellinger_affinity(const Histogram &a, const Histogram &b);

} // namespace smalloc::reuse
