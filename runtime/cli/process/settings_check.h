// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// settings_check.h decides what libsmalloc would say of settings, before anything is started with them.
#pragma once

#include <string>

namespace smalloc::cli {

/// The first of its complaints about settings as in SMALLOC_CONF, without what it does instead; empty: there is none.
std::string complaint_about(const std::string &settings);

} // namespace smalloc::cli
