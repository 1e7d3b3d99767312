// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// closed_entries.h detects programs whose rewritten calls can never reach libsmalloc. They call it
// through weak references, and the linker resolved these to 0 for good. -z nodynamic-undefined-weak
// requests that; mold does it by default in every executable, and before 2.37 no option prevents
// it. (A library's reference stays open, since the program may define it.) Then libsmalloc serves
// only malloc, and no site.
#pragma once

#include "runtime/cli/sites/elf_sites.h"

#include <optional>
#include <string>
#include <vector>

namespace smalloc::cli {

struct ClosedEntries {
  std::string why;
  std::string cure; // option to add to the link
};

// Returns the reason and the remedy. Returns nothing if the references are open, no site needs
// them, or the file does not show it (no section headers, no dynamic table).
std::optional<ClosedEntries> closed_entries(const ElfImage &image, const std::vector<Site> &sites);

} // namespace smalloc::cli
