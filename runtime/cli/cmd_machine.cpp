// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cmd_machine.cpp decides what `smalloc machine list` and `smalloc machine show` print: the presets
// that decisions can be made for, and one profile, which may be a file to be checked.
#include "runtime/cli/diagnostics.h"
#include "runtime/cli/input_file.h"
#include "runtime/cli/output.h"
#include "runtime/cli/site_report.h"
#include "runtime/cli/verbs.h"
#include "runtime/format/machine_json.h"

#include <memory>
#include <set>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace smalloc::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  OutputOptions output;
  std::string name; // preset or file; empty: this machine's preset
  bool show = false;
};

const char *source_text(const format::Number &number) {
  return number.value ? number.source.c_str() : "unknown";
}

std::string number_text(const format::Number &n, const char *unit) {
  if (!n.value)
    return "?";
  std::string text = fmt::format("{:g}{}", *n.value, unit);
  if (n.low && n.high)
    text += fmt::format(" ({:g} to {:g})", *n.low, *n.high);
  return text;
}

int list_machines(const Options &options) {
  const auto thresholds = parse_thresholds(options.output);
  const std::string native = smalloc_machine_native()->name;
  Json machines = Json::array();
  std::set<std::string> seen; // a preset with several model ranges is one machine
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

format::MachineProfile load_profile(const std::string &name) {
  if (name.empty())
    return format::profile_of_preset(*smalloc_machine_native());
  if (const struct smalloc_machine *preset = smalloc_machine_by_name(name.c_str()))
    return format::profile_of_preset(*preset);
  if (name == "native")
    return format::profile_of_preset(*smalloc_machine_native());
  // What has neither a slash nor a dot was meant as a preset's name.
  if (name.find_first_of("/.") == std::string::npos)
    throw Failure{"cannot use machine profile", name,
                  "there is neither a preset nor a profile of that name", "smalloc machine list",
                  kFailed};
  const auto bytes = read_file(name, "cannot use machine profile");
  try {
    return format::parse_machine({reinterpret_cast<const char *>(bytes.data()), bytes.size()});
  } catch (const format::MachineFormatError &error) {
    throw Failure{"cannot use machine profile", name, error.what(),
                  "smalloc machine show --json prints a profile to compare with", kFailed};
  }
}

std::string profile_text(const format::MachineProfile &p, Colour colour) {
  std::string text =
      fmt::format("{}: reach {} pages of {} ({})\n\n", printable(p.name), p.reach(),
                  readable_bytes(p.base_page_bytes), readable_bytes(p.reach() * p.base_page_bytes));
  Table table({"WHAT", "VALUE", "SOURCE"});
  for (const format::TlbLevel &level : p.tlb) {
    std::string sizes;
    for (uint64_t bytes : level.page_bytes)
      sizes += (sizes.empty() ? "" : ", ") + readable_bytes(bytes);
    const std::string ways =
        *level.ways.value == 0 ? "fully associative" : number_text(level.ways, "-way");
    table.add_row({{fmt::format("TLB level {}, {}", level.level, sizes)},
                   {number_text(level.entries, " entries") + ", " + ways},
                   {source_text(level.entries)}});
  }
  table.add_row({{"second-level hit"},
                 {number_text(p.l2_hit_cycles, " cycles")},
                 {source_text(p.l2_hit_cycles)}});
  for (const format::WalkCost &cost : p.walk_cost)
    table.add_row(
        {{fmt::format("walk, {}{}", readable_bytes(cost.page_bytes),
                      cost.pages ? fmt::format(", {} pages", *cost.pages) : std::string())},
         {number_text(cost.cycles, " cycles")},
         {source_text(cost.cycles)}});
  for (const format::PerPage &touch : p.first_touch_ns)
    table.add_row({{"first touch, " + readable_bytes(touch.page_bytes)},
                   {number_text(touch.value, " ns")},
                   {source_text(touch.value)}});
  if (p.collapse_ns.value)
    table.add_row(
        {{"collapse"}, {number_text(p.collapse_ns, " ns")}, {source_text(p.collapse_ns)}});
  table.add_row({{"prefetched stride"},
                 {p.prefetch_max_stride_bytes.value
                      ? "up to " + number_text(p.prefetch_max_stride_bytes, " bytes")
                      : "?"},
                 {source_text(p.prefetch_max_stride_bytes)}});
  text += table.print(colour);
  for (const std::string &line : p.disagreements)
    text += "disagreement: " + printable(line) + "\n";
  return text;
}

int show_machine(const Options &options) {
  const auto thresholds = parse_thresholds(options.output);
  const format::MachineProfile profile = load_profile(options.name);
  return finish(options.output, thresholds, format::machine_document(profile),
                [&](Colour colour) { return profile_text(profile, colour); });
}

std::function<int()> declare(CLI::App &app) {
  auto options = std::make_shared<Options>();
  CLI::App *list = app.add_subcommand("list", "The presets; * marks this machine's");
  add_output_options(*list, options->output);
  CLI::App *show = app.add_subcommand(
      "show", "One profile: this machine's preset, a preset by name, or a file, which is checked");
  show->add_option("NAME|FILE", options->name,
                   "Preset or profile; without it, this machine's preset")
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
                           declare};

} // namespace smalloc::cli
