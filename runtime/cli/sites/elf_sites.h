// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// elf_sites.h decides how the table of allocation sites (smalloc/site.h) is found in a file and
// which of its records are believed: those whose every string ends inside the record and whose
// enumerations are known. A record that is not believed costs a warning with its offset, and the
// reader goes on at the next magic number.
//
// Order of search: sections named smalloc_sites (several in an object file with COMDAT groups);
// without any section header, the loaded segments are scanned for records. O(file bytes), once.
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
  // The cell's word as the file has it: what a process starts with. Nothing in objects, where the
  // linker has yet to place the cell, and for sites that have none.
  std::optional<uint64_t> cell_word;
  std::string function, file, array, callee, spread_expr, why, context, machine;
  bool joined = false; // decided by what another unit does with it
  unsigned copies = 1; // calls that the compiler has made of it, all the same (site_report.h)

  // Today's decision: the cell's where there is one, else the compiler's.
  unsigned decision() const;
  unsigned decided_by() const;
  unsigned page_shift() const;
};

struct SiteTable {
  std::vector<Site> sites; // in the order of the file
  // The units' summaries (smalloc_keys), one after the other, aligned; only believable blocks count.
  std::vector<uint64_t> keys;
  std::vector<std::string> warnings;
  std::vector<std::string> notes;
  bool table_found = false; // false: no section of that name and no record anywhere
  bool debug_only = false;  // the section is there, its bytes are not (objcopy --only-keep-debug)
};

SiteTable read_sites(const ElfImage &image);

// Decides undecided sites by what other units do with their memory, exactly as the runtime does when the
// image is loaded, and says so in `why`. Calls that would be sites if the
// function they call allocated are left out unless a unit says that it does. O(sites + records).
void join_units(SiteTable &table);

// The believed record at the start of `bytes`; else nothing, and `why` says what is wrong with it.
std::optional<Site> parse_site(ByteSpan bytes, std::string &why);

} // namespace smalloc::cli
