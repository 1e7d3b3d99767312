// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// settings_check.h checks settings as libsmalloc does, before anything is started with them.
#pragma once

#include <string>

namespace smalloc::cli {

/// Returns the first complaint about settings in the form of SMALLOC_CONF, without libsmalloc's
/// fallback; empty: none.
std::string complaint_about(const std::string &settings);

} // namespace smalloc::cli
