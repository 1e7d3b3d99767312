// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// profile_clusters.h makes one category of sites that are accessed alike (--categories dynamic).
#pragma once

#include "runtime/benefit/cost_model.h"
#include "runtime/profile/profile_survey.h"

namespace smalloc::cli {

/// Joins sites of the survey that are accessed alike (benefit/clusters.h), and counts again by
/// cluster. A window is as long as the reach of the base pages' TLB: sites that take turns within
/// it need it at the same time. Reads each trace twice.
void cluster(Survey &survey, const benefit::CostModel &costs);

} // namespace smalloc::cli
