// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// program_sites.h decides what the sites of a program are that somebody names: read, joined, in order, as the document
// smalloc.sites/1.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace smalloc::cli {

// Warns of damage. Throws Failure: no program, or none with a believable site.
nlohmann::ordered_json sites_of_program(const std::string &file);

} // namespace smalloc::cli
