// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// elf_sites.h finds the table of allocation sites (smalloc/site.h) in a file and reads its valid
// records. A record is valid if each string ends inside it and its enumerations are known. An
// invalid record causes a warning with its offset; the reader continues at the next magic number.
//
// Order of search: sections named smalloc_sites (several in an object file with COMDAT groups);
// without section headers, it scans the loaded segments. O(file bytes), once.
#pragma once

#include "runtime/cli/sites/elf_image.h"
#include "smalloc/site.h"

#include <optional>
#include <string>
#include <vector>

namespace smalloc::cli {

struct Site {
  struct smalloc_site record;
  uint64_t file_offset = 0;
  // The cell's word in the file, with which a process starts. Empty for sites without a cell, and
  // in object files, where the linker has not yet placed the cell.
  std::optional<uint64_t> cell_word;
  std::string function, file, array, callee, spread_expr, why, context, machine;
  bool joined = false; // another unit's use of the memory decided
  unsigned copies = 1; // identical copies of the call that the compiler made (site_report.h)

  // Return the present decision: the cell's if there is one, else the compiler's.
  unsigned decision() const;
  unsigned decided_by() const;
  unsigned page_shift() const;
};

struct SiteTable {
  std::vector<Site> sites; // in the file's order
  // Summaries of the units (smalloc_keys), one after the other, aligned; only valid blocks count.
  std::vector<uint64_t> keys;
  std::vector<std::string> warnings;
  std::vector<std::string> notes;
  bool table_found = false; // false: no section of that name and no record
  bool debug_only = false;  // the section exists without its bytes (objcopy --only-keep-debug)
};

SiteTable read_sites(const ElfImage &image);

// Decides undecided sites from what other units do with their memory, exactly as the runtime does
// when the image is loaded; `why` records it. Removes calls that would be sites if their callee
// allocated, unless a unit states that it does. O(sites + records).
void join_units(SiteTable &table);

// Returns the valid record at the start of `bytes`. Otherwise returns nothing; `why` gets the
// reason.
std::optional<Site> parse_site(ByteSpan bytes, std::string &why);

} // namespace smalloc::cli
