// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// site_report.h decides what `smalloc sites` tells of a table: the order of the sites, the document
// smalloc.sites/1, and the text made of it. Both come from the same document, so that they cannot
// differ.
#pragma once

#include "runtime/cli/sites/elf_sites.h"
#include "runtime/cli/table.h"

#include <cstdint>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace smalloc::cli {

// By benefit, then id: superpage before run-time before base, inside each the estimated saving.
void sort_by_benefit(std::vector<Site> &sites);

// Copies of one call that nothing tells apart (a loop unrolled, a condition duplicated) become one site with their number; the first
// of them stands for all. Those of other inline chains or other decisions stay.
void merge_copies(std::vector<Site> &sites);

// `sites` in the order in which they are to appear.
nlohmann::ordered_json site_document(const std::vector<Site> &sites, const std::string &path,
                                     const std::string &build_id);

// Which of a program's sites are shown.
struct SiteChoice {
  uint64_t most = UINT64_MAX; // that pay most
  std::string function;       // part of the name of a function, as people write it
  uint64_t least_bytes = 0;   // of an object; sites of unknown size stay
};

// Leaves the other sites out of `document`. Its totals are still those of the whole program.
void choose_sites(nlohmann::ordered_json &document, const SiteChoice &choice);

// `frames`: with the calls that sites were inlined through.
std::string site_text(const nlohmann::ordered_json &document, Colour colour, bool frames);

// A linkage name as people write it: C++ demangled, Fortran's _QMmodulePname as module::name.
std::string readable_function(const std::string &linkage_name);

// 2097152 -> "2 MiB", 1500 -> "1500 B", 1536 -> "1.5 KiB".
std::string readable_bytes(uint64_t bytes);

} // namespace smalloc::cli
