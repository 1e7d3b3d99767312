// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cmd_machine.cpp implements `smalloc machine list` and `smalloc machine show`. They print the
// presets, and one profile, which may be a file to check.
#include "runtime/cli/machine/profile_report.h"
#include "runtime/cli/machine/profile_store.h"
#include "runtime/cli/output.h"
#include "runtime/cli/sites/site_report.h"
#include "runtime/cli/verbs.h"
#include "runtime/errors/diagnostics.h"
#include "runtime/format/machine_json.h"

#include <memory>
#include <set>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace smalloc::cli {
namespace {

using Json = nlohmann::ordered_json;

struct MachineOptions {
  OutputOptions output;
  std::string name; // preset or file; empty: this machine's preset
  bool show = false;
};

int list_machines(const MachineOptions &options) {
  const auto thresholds = parse_thresholds(options.output);
  const std::string native = smalloc_machine_native()->name;
  Json machines = Json::array();
  std::set<std::string> seen; // skips further processors of a preset
  for (const struct smalloc_machine &preset : smalloc_machine_presets) {
    if (!seen.insert(preset.name).second)
      continue;
    machines.push_back(
        Json{{"name", preset.name},
             {"description", preset.description},
             {"native", native == preset.name},
             {"base_page_bytes", preset.base_page_bytes},
             {"reach_pages", smalloc_machine_reach_pages(&preset)},
             {"paper_threshold_pages", smalloc_machine_paper_threshold_pages(&preset)},
             {"entries_4k", preset.l2.entries_4k ? preset.l2.entries_4k : preset.l1.entries_4k},
             {"entries_2m", preset.l2.entries_2m ? preset.l2.entries_2m : preset.l1.entries_2m}});
  }
  const Json document{{"schema", "smalloc.machines/1"},
                      {"native", native},
                      {"machines", machines},
                      {"totals", Json{{"machines", machines.size()}}}};
  return finish(options.output, thresholds, document, [&](Colour colour) {
    Table table({"", "NAME", "REACH", "COVERS", "2 MIB ENTRIES", "PROCESSOR"});
    for (const Json &m : machines) {
      const uint64_t reach = m["reach_pages"], page = m["base_page_bytes"];
      table.add_row({{m["native"].get<bool>() ? "*" : " "},
                     {m["name"], m["native"].get<bool>() ? Style::kGood : Style::kPlain},
                     {fmt::format("{} pages", reach)},
                     {readable_bytes(reach * page)},
                     {m["entries_2m"].dump()},
                     {m["description"]}});
    }
    return table.print(colour) + "\n* this machine\n";
  });
}

int show_machine(const MachineOptions &options) {
  const auto thresholds = parse_thresholds(options.output);
  const format::MachineProfile profile = load_profile(options.name);
  return finish(options.output, thresholds, format::machine_document(profile),
                [&](Colour colour) { return profile_text(profile, colour); });
}

std::function<int()> declare_machine(CLI::App &app) {
  auto options = std::make_shared<MachineOptions>();
  CLI::App *list = app.add_subcommand("list", "The presets; * marks this machine's");
  add_output_options(*list, options->output);
  CLI::App *show = app.add_subcommand(
      "show",
      "One profile: this machine's preset, a preset by name, stored (what smalloc calibrate "
      "measured), or a file, which is checked");
  show->add_option("NAME|FILE", options->name,
                   "Preset, stored, or profile; without it, this machine's preset")
      ->type_name("");
  add_output_options(*show, options->output);
  show->callback([options] { options->show = true; });
  app.require_subcommand(1);
  return [options] { return options->show ? show_machine(*options) : list_machines(*options); };
}

} // namespace

const Verb kMachineVerb = {"machine",
                           "the processors whose TLB decisions can be made for",
                           "Lists the presets that the plugin knows, or shows one profile: what "
                           "its TLB covers and what a miss costs. A file in the "
                           "form smalloc.machine/1 is checked and shown in the same way.",
                           {{"smalloc machine list", "every preset; * marks this machine's"},
                            {"smalloc machine show zen4 --json > zen4.json",
                             "a profile to edit and to compile with (machine=zen4.json)"}},
                           declare_machine};

} // namespace smalloc::cli
