// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// profile.h analyses traces into a ranking of sites. It surveys them, sums several (inputs, ranks,
// hosts), evaluates the categories and chooses those that are worth superpages.
// runtime/cli/analyze/analyze_report.h makes text, JSON and directives of the result.
#pragma once

#include "runtime/profile/profile_result.h"

#include <functional>

namespace smalloc::cli {

/// Analyses the traces. Reads each two or three times, for clusters twice more. Calls
/// progress(fraction, what) now and then. Throws Failure for files that cannot be read.
Profile analyse(const ProfileOptions &options, const benefit::CostModel &costs,
                const std::function<void(double, const char *)> &progress);

} // namespace smalloc::cli
