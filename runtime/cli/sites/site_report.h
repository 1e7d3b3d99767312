// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// site_report.h sorts the sites of a table and prints them for `smalloc sites`, as the document
// smalloc.sites/1 and as text. The text is made from the document, so that they cannot differ.
#pragma once

#include "runtime/cli/sites/elf_sites.h"
#include "runtime/cli/table.h"

#include <cstdint>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace smalloc::cli {

// Sorts by decision (superpage, then run-time, then base), then by the estimated saving, then by
// id.
void sort_by_benefit(std::vector<Site> &sites);

// Merges identical copies of one call (an unrolled loop, a duplicated condition) into their first,
// with the number of copies. Copies in other inline chains or with other decisions stay.
void merge_copies(std::vector<Site> &sites);

// Returns the document. `sites`: in the order of the output.
nlohmann::ordered_json site_document(const std::vector<Site> &sites, const std::string &path,
                                     const std::string &build_id);

// Choice of the sites that are shown.
struct SiteChoice {
  uint64_t most = UINT64_MAX; // most sites: those with the largest saving
  std::string function;       // part of a function's readable name
  uint64_t least_bytes = 0;   // smallest object; sites of unknown size stay
};

// Removes the other sites from `document`. Its totals remain those of the whole program.
void choose_sites(nlohmann::ordered_json &document, const SiteChoice &choice);

// Returns the text. `frames`: with the calls through which sites were inlined.
std::string site_text(const nlohmann::ordered_json &document, Colour colour, bool frames);

// Returns a readable linkage name: C++ demangled, Fortran's _QMmodulePname as module::name.
std::string readable_function(const std::string &linkage_name);

// Formats bytes: 2097152 -> "2 MiB", 1000 -> "1000 B", 1500 -> "1.5 KiB".
std::string readable_bytes(uint64_t bytes);

} // namespace smalloc::cli
