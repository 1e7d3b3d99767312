// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// closed_entries.h decides when a program with rewritten calls can never have them served: it calls libsmalloc through weak
// references, and its linker resolved these to 0, for good. -z nodynamic-undefined-weak asks for that; mold does it by itself in every
// executable (a program may define what it refers to, so a library's reference stays open), and before 2.37 obeys no option.
// Then libsmalloc sees the program's malloc only, and no site.
#pragma once

#include "runtime/cli/sites/elf_sites.h"

#include <optional>
#include <string>
#include <vector>

namespace smalloc::cli {

struct ClosedEntries {
  std::string why;
  std::string cure; // what to add to the link
};

// Nothing: they are open, or there are none to be served, or the file does not say (no section headers, no dynamic table).
std::optional<ClosedEntries> closed_entries(const ElfImage &image, const std::vector<Site> &sites);

} // namespace smalloc::cli
