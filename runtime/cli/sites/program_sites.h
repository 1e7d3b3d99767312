// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// program_sites.h reads the sites of a program that the user names: joined, sorted, as the document
// smalloc.sites/1.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace smalloc::cli {

// Returns the document; warns of damage. Throws Failure if the file is no program or has no valid
// site.
nlohmann::ordered_json sites_of_program(const std::string &file);

} // namespace smalloc::cli
