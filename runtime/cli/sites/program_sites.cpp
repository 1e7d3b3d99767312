// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// program_sites.cpp reads the sites of a program. A file without a valid site is a failure, so that
// a build script notices that the plugin was missing.
#include "runtime/cli/sites/program_sites.h"

#include "runtime/cli/input_file.h"
#include "runtime/cli/installation.h"
#include "runtime/cli/sites/elf_sites.h"
#include "runtime/cli/sites/site_report.h"
#include "runtime/errors/diagnostics.h"

#include <nlohmann/json.hpp>

namespace smalloc::cli {

nlohmann::ordered_json sites_of_program(const std::string &file) {
  const auto bytes = read_file(file, "cannot read the program", kProgramInput);
  const ElfImage image = parse_elf(bytes, file);
  SiteTable table = read_sites(image);
  join_units(table);
  for (const std::string &warning : table.warnings)
    print_warning("damaged site table", file, warning);
  for (const std::string &note : table.notes)
    print_note(file + ": " + note);
  if (table.debug_only)
    throw Failure{"no allocation sites", file, "it holds only debug information",
                  "name the program that it was split from", kFailed};
  if (table.sites.empty())
    throw Failure{
        "no allocation sites", file,
        !table.table_found
            ? "its own code allocates nothing (libraries may: std::pmr, for example), or it was "
              "not compiled with the plugin, or without optimisation, or with a sanitizer"
        : table.warnings.empty() ? "its site table lists no allocation"
                                 : "its table has no readable record",
        compile_hint("app.c -o app"), kFailed};
  merge_copies(table.sites);
  sort_by_benefit(table.sites);
  auto document = site_document(table.sites, file, image.build_id());
  if (document["machine"]["name"] == "mixed")
    print_note(file + ": its units were compiled for different machines");
  return document;
}

} // namespace smalloc::cli
