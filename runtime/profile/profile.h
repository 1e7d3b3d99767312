// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// profile.h decides how traces become a ranking of sites: which categories are looked at, how several traces (inputs,
// ranks, hosts) are summed, and what is chosen. The text, JSON and directives are made of the result elsewhere
// (profile_report.h).
#pragma once

#include "runtime/profile/profile_result.h"

#include <functional>

namespace smalloc::cli {

/// Reads each trace two or three times, for clusters twice more. progress(fraction, what) is called now and then. Throws Failure for files that
/// cannot be read.
Profile analyse(const ProfileOptions &options, const benefit::CostModel &costs,
                const std::function<void(double, const char *)> &progress);

} // namespace smalloc::cli
