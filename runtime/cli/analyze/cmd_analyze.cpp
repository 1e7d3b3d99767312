// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cmd_analyze.cpp implements `smalloc analyze` and explains traces that hold too little.
#include "runtime/cli/analyze/analyze_report.h"
#include "runtime/cli/history/history_store.h"
#include "runtime/cli/installation.h"
#include "runtime/cli/machine/profile_store.h"
#include "runtime/cli/output.h"
#include "runtime/cli/process/launch.h"
#include "runtime/cli/progress.h"
#include "runtime/cli/sites/site_report.h"
#include "runtime/cli/verbs.h"
#include "runtime/cli/written_file.h"
#include "runtime/directives/directives_file.h"
#include "runtime/errors/diagnostics.h"
#include "runtime/profile/profile.h"
#include "runtime/study/command_line.h"
#include "runtime/trace/declared_work.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace smalloc::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  OutputOptions output; // its file is not used: -o names the directives file
  ProfileOptions profile;
  std::string directives, machine, budget, categories = "site", significance = "share",
                                           associativity = "sets";
  std::string database, input, plot, pages = "2m";
  bool no_database = false, unbounded = false;
};

// With fewer regions in a sampled trace, its estimates are off by 20 % and more (one over the
// square root).
constexpr size_t kFewRegions = 30;
// Share of accesses; below it, memory that cannot be steered is not worth a line.
constexpr double kMostNobodys = 0.05;

// Returns the recorded program, quoted for a shell.
std::string program_of(const Profile &p) {
  namespace fs = std::filesystem;
  const fs::path path = p.traces.front().program;
  std::error_code error;
  if (path.empty())
    return "./app";
  return study::shell_word(path.parent_path() == fs::current_path(error)
                               ? "./" + path.filename().string()
                               : path.string());
}

// Explains what the traces lack. Throws if a trace holds nothing of use because it was cut.
void explain_gaps(const Options &options, const Profile &p) {
  const TraceSummary &first = p.traces.front();
  const std::string again =
      "smalloc record -o " + study::shell_word(first.path) + " -- " + program_of(p);
  if (is_empty(p)) {
    if (first.read_bytes < first.file_bytes)
      throw Failure{
          "cannot analyze the trace", first.path,
          fmt::format("it is truncated, and the {} of {} bytes that can be read hold no allocation "
                      "and no access",
                      first.read_bytes, first.file_bytes),
          again, kFailed};
    print_warning("nothing to analyze", first.path, "it holds no allocation and no access", again);
    return;
  }
  if (!p.has_accesses) {
    // A program that records its accesses, none of them sampled, needs no other compiler option.
    const bool unsampled =
        first.rate < 1 && !first.program.empty() && inspect(first.program).tells_accesses;
    print_warning(
        "no data accesses", first.path,
        unsampled
            ? fmt::format("at rate {:.4g} none of the 2 MiB regions that it accesses was sampled; "
                          "only first touches are estimated",
                          first.rate)
            : "only first touches are estimated, as if every object were written once",
        unsampled
            ? "smalloc record --rate 1 -- " + program_of(p)
            : "compile with -fplugin-arg-smalloc-profile-generate, then smalloc record --rate 1");
  }
  for (const TraceSummary &t : p.traces)
    if (t.faults)
      print_warning("no data accesses", t.path,
                    "page faults were recorded: only first touches are known",
                    "compile with -fplugin-arg-smalloc-profile-generate, then smalloc record");
  for (const TraceSummary &t : p.traces)
    if (t.rate < 1 && t.regions < kFewRegions && p.has_accesses)
      print_warning(
          "few sampled regions", t.path,
          fmt::format("{} of 2 MiB at rate {:.4g}: what they say of the others is far from sure",
                      t.regions, t.rate),
          "smalloc record --rate 1 -- " + program_of(p));
  for (const TraceSummary &t : p.traces)
    if (t.nobodys > kMostNobodys * t.accesses)
      print_note(
          fmt::format("{:.0f} % of the accesses of {} are to memory of no site: mapped by the "
                      "program itself, or before the recording",
                      100 * t.nobodys / t.accesses, t.path));
  const auto is_orphan = [](const TraceSummary &t) { return !t.parent.empty() && !t.forked(); };
  if (const auto orphan = std::find_if(p.traces.begin(), p.traces.end(), is_orphan);
      orphan != p.traces.end())
    print_note(fmt::format(
        "{} of {} traces come from processes whose own traces belong to the analysis, such as {} "
        "from process {}: without them what it inherited belongs to no site, and it counts as a "
        "run",
        std::count_if(p.traces.begin(), p.traces.end(), is_orphan), p.traces.size(), orphan->path,
        printable(orphan->parent)));
  if (options.directives.empty())
    return;
  const auto chosen = [](const RankedMapping &m) {
    return m.mapping.chosen && m.kind == benefit::CategoryKind::kStatic;
  };
  if (std::any_of(p.mappings.begin(), p.mappings.end(), chosen))
    print_note("static data is chosen, too, and no directive carries it: SMALLOC_CONF=static:on");
}

// Parses "64m", "2g", or a number of bytes.
uint64_t parse_budget(const std::string &text) {
  char *end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  uint64_t unit = 1;
  switch (*end) {
  case 'k':
  case 'K':
    unit = uint64_t{1} << 10;
    end++;
    break;
  case 'm':
  case 'M':
    unit = uint64_t{1} << 20;
    end++;
    break;
  case 'g':
  case 'G':
    unit = uint64_t{1} << 30;
    end++;
    break;
  }
  if (end == text.c_str() || *end || !(value >= 0) || value * static_cast<double>(unit) > 1e18)
    throw Failure{"cannot understand the command line", "--budget " + text,
                  "it is not a size such as 64m or 2g", "smalloc analyze --help", kUsage};
  return static_cast<uint64_t>(value * static_cast<double>(unit));
}

// Runs `work` on the history. Returns false if the history cannot be used; the analysis is printed
// nevertheless. With --db, `refused` gets the failure, and the command fails at its end. Without
// --db, the failure is printed as a warning.
bool with_the_history(const Options &options, std::optional<Failure> &refused,
                      const std::function<void()> &work) {
  std::optional<Failure> failure;
  try {
    work();
    return true;
  } catch (const database::DatabaseError &error) {
    failure.emplace(failure_of(error));
  } catch (const Failure &error) {
    failure.emplace(error);
  }
  if (!options.database.empty())
    refused = failure;
  else
    print_warning("the analysis is not stored", failure->which, failure->why, failure->hint);
  return false;
}

// Parses "2m", "64k,2m,1g" or "all". Skips sizes without TLB entries on the machine: nothing is
// known about them.
std::vector<benefit::PageSize> parse_pages(const std::string &text,
                                           const format::MachineProfile &machine,
                                           const benefit::CostModel &costs) {
  using benefit::PageSize;
  constexpr std::pair<const char *, PageSize> kNames[] = {
      {"64k", PageSize::kMedium}, {"2m", PageSize::kSuper}, {"1g", PageSize::kGigantic}};
  std::array<bool, benefit::kPageSizes> wanted{};
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    bool known = word == "all";
    for (const auto &[name, size] : kNames) {
      if (word != name && word != "all")
        continue;
      known = true;
      wanted[static_cast<size_t>(size)] = costs.has(size);
      if (word == name && !costs.has(size))
        print_warning("a page size is left out", name,
                      fmt::format("the profile {} knows no TLB entries for it", machine.name),
                      "smalloc machine show " + machine.name);
    }
    if (!known)
      throw Failure{"cannot understand the command line", "--pages " + text,
                    "it is not a list of 64k, 2m and 1g, nor all", "smalloc analyze --help",
                    kUsage};
  }
  std::vector<PageSize> sizes;
  for (const auto &[name, size] : kNames)
    if (wanted[static_cast<size_t>(size)])
      sizes.push_back(size);
  if (sizes.empty())
    throw Failure{"cannot analyze", "--pages " + text, "no page size is left to look at",
                  "smalloc analyze --pages 2m", kUsage};
  return sizes;
}

// Recommends --categories context if copies of a site share a row: a wrapper that allocates
// everything is one site, and its row may be several arrays.
void point_to_contexts(const Profile &profile) {
  for (const RankedMapping &m : profile.mappings)
    if (m.copies > 1 && m.mapping.saved_cycles > 0) {
      print_note(fmt::format("{} {}:{} is inlined into {} places, ranked as one: --categories "
                             "context ranks each",
                             readable_function(m.function), m.file, m.line, m.copies));
      return;
    }
}

// Returns false, with a warning, if the traces are of different programs: the sum of their numbers
// is meaningless. Builds of one program count as one program.
bool is_one_program(const Profile &p) {
  const TraceSummary &first = p.traces.front();
  for (const TraceSummary &t : p.traces)
    if (!t.build_id.empty() && !first.build_id.empty() && t.build_id != first.build_id &&
        t.program != first.program) {
      print_warning("traces of different programs", t.path,
                    t.program + ", the first is of " + first.program +
                        ": their sum is no program's, and is not stored",
                    "smalloc analyze each program's traces by themselves");
      return false;
    }
  return true;
}

bool is_of_sites(benefit::Grouping grouping) {
  return grouping != benefit::Grouping::kPaper && grouping != benefit::Grouping::kObject;
}

// Warns if no directive can be given. Sites that were analysed and left unchanged are reported
// further below.
void warn_of_no_directives(const std::string &file, const Profile &p) {
  if (p.plugin_sites == 0)
    return print_warning(
        "no directives", file,
        "no site of the traces was compiled with the plugin, so none can be steered",
        compile_hint("-fplugin-arg-smalloc-rewrite=all app.c -o app"));
  if (std::any_of(p.mappings.begin(), p.mappings.end(), [](auto &m) { return m.steerable; }))
    return;
  const bool sampled = std::any_of(p.traces.begin(), p.traces.end(),
                                   [](const TraceSummary &t) { return t.rate < 1; });
  print_warning("no directives", file,
                fmt::format("of the {} site{} compiled with the plugin none is among the {} that "
                            "were evaluated{}",
                            p.plugin_sites, p.plugin_sites == 1 ? "" : "s", p.mappings.size(),
                            sampled ? ": the sample holds no access to their objects"
                                    : ", those with the most accesses"),
                sampled ? "smalloc record --rate 1 -- " + program_of(p)
                        : "smalloc analyze --mappings N, with a larger number");
}

int run_analyze(Options &options) {
  const auto thresholds = parse_thresholds(options.output);
  set_quiet(options.output.quiet);
  trace::ReadingLimits::lifted = options.unbounded;
  // Check before minutes of work whether the results can be written.
  if (!options.directives.empty())
    check_can_write(expand_file_name(options.directives), "-o");
  if (!options.plot.empty())
    check_can_write(expand_file_name(options.plot), "--plot");
  if (!options.budget.empty())
    options.profile.budget_bytes = parse_budget(options.budget);
  options.profile.grouping = options.categories == "paper"     ? benefit::Grouping::kPaper
                             : options.categories == "context" ? benefit::Grouping::kContext
                             : options.categories == "dynamic" ? benefit::Grouping::kDynamic
                             : options.categories == "object"  ? benefit::Grouping::kObject
                                                               : benefit::Grouping::kSite;
  options.profile.rule = options.significance == "paper" ? benefit::SignificanceRule::kPaper
                                                         : benefit::SignificanceRule::kShare;
  format::MachineProfile machine = load_profile_for_traces(options.machine);
  if (options.associativity == "paper")
    machine = benefit::without_sets(std::move(machine));
  const AnalyzeWords words = {expand_file_name(options.directives), options.significance,
                              !options.budget.empty()};
  for (const FailIf &threshold : thresholds)
    check_key(threshold, analyze_document(words, options.profile, {}, {}, machine));
  const benefit::CostModel costs(machine);
  options.profile.pages = parse_pages(options.pages, machine, costs);
  Progress progress("analyzing", options.output.quiet);
  const Profile profile = analyse(options.profile, costs, [&](double fraction, const char *what) {
    progress.show(fraction, what);
  });
  progress.clear();
  explain_gaps(options, profile);
  const bool one_program = is_one_program(profile);
  // The history supplies how accurate earlier predictions were. It stores this analysis and returns
  // the directives that are still valid.
  std::optional<database::History> history;
  std::optional<Failure> refused;
  Expectation expected;
  expected.by_calibration = saved_by_calibration(profile, costs);
  if (!options.no_database && one_program && !profile.traces.front().build_id.empty() &&
      !is_empty(profile) && !with_the_history(options, refused, [&] {
        history.emplace(open_history(options.database, database::Access::kReadWrite));
        expected.realisation = realisation_of(*history, profile.traces.front().build_id,
                                              profile.traces.front().program, machine.name);
      }))
    history.reset();
  const Json document = analyze_document(words, options.profile, profile, expected, machine);
  for (const FailIf &threshold : thresholds) { // a missing key must throw before anything is
                                               // written
    std::string found;
    crosses(threshold, document, found);
  }
  directives::File file = analyze_directives(options.profile, profile, expected, machine);
  if (!one_program)
    file.header.erase("program"); // the directives apply to any program that has the sites
  if (!options.input.empty())
    file.header["input"] = input_of({"", options.input});
  else if (const std::string &input = profile.traces.front().input;
           !input.empty() && std::all_of(profile.traces.begin(), profile.traces.end(),
                                         [&](const TraceSummary &t) { return t.input == input; }))
    file.header["input"] = input;
  // Categories that no directive can follow are not stored: they predict no runs.
  if (history && options.associativity == "sets" && is_of_sites(options.profile.grouping))
    with_the_history(options, refused, [&] {
      file = remember_analysis(*history, profile, expected.by_calibration, machine, file);
    });
  if (!options.directives.empty()) {
    if (file.entries.empty() && !is_of_sites(options.profile.grouping))
      print_warning("no directives", options.directives,
                    options.profile.grouping == benefit::Grouping::kPaper
                        ? "the paper's categories are no sites, which directives are for"
                        : "directives are for sites, not for one object of a site",
                    "smalloc analyze --categories site, context or dynamic");
    else if (file.entries.empty() && !is_empty(profile))
      warn_of_no_directives(options.directives, profile);
    write_text(options.directives, directives::print(file));
    const auto left = std::count_if(profile.mappings.begin(), profile.mappings.end(),
                                    [](auto &m) { return m.steerable && m.undecided(); });
    if (left)
      print_warning(
          fmt::format("{} site{} left without a directive", left, left == 1 ? "" : "s"),
          options.directives,
          "they would gain by the estimate, which the sample cannot make sure of; the compiler "
          "decides",
          "smalloc record --rate 1 -- " + program_of(profile));
  }
  if (!options.plot.empty())
    write_text(options.plot, analyze_plot(profile), "--plot");
  const int status = finish(options.output, thresholds, document, [&](Colour colour) {
    return analyze_text(words, options.profile, profile, expected, colour);
  });
  point_to_contexts(profile);
  if (!options.directives.empty() && !file.entries.empty()) {
    // A program that records its accesses would record them again, on base pages, without
    // trace:off.
    const std::string &program = profile.traces.front().program;
    const Target target = program.empty() ? Target() : inspect(program);
    print_note("next: " +
               (target.needs_preload
                    ? "smalloc apply --directives " + study::shell_word(words.directives) + " -- "
                    : "SMALLOC_CONF=directives:" +
                          study::shell_word(as_file_name_of_conf(words.directives)) +
                          (target.tells_accesses ? ",trace:off " : " ")) +
               program_of(profile));
  }
  if (refused)
    throw *refused;
  return status;
}

// CLI::Range would accept nan.
CLI::Validator number_between(double least, double most, const std::string &wanted) {
  return CLI::Validator(
      [=](const std::string &text) {
        char *end = nullptr;
        const double value = std::strtod(text.c_str(), &end);
        return end != text.c_str() && !*end && value >= least && value <= most
                   ? std::string()
                   : "'" + text + "' is not " + wanted;
      },
      "");
}

std::function<int()> declare(CLI::App &app) {
  auto options = std::make_shared<Options>();
  app.add_option("TRACE", options->profile.traces, "Traces of smalloc record; several are summed")
      ->required()
      ->type_name("");
  app.add_option("-o,--output", options->directives, "Write a directives file")->type_name("FILE");
  app.add_option("--plot", options->plot,
                 "Also write a picture (SVG) to FILE: benefit over superpages")
      ->type_name("FILE");
  app.add_option("--machine", options->machine,
                 "Preset, stored, or a profile's file; without it, this machine's preset")
      ->type_name("NAME|FILE");
  app.add_option("--db", options->database,
                 "Store the result there, a file or postgresql://... "
                 "($XDG_STATE_HOME/smalloc/smalloc.db)")
      ->type_name("DATABASE");
  app.add_flag("--no-db", options->no_database, "Store nothing");
  app.add_option("--input", options->input,
                 "The input that was recorded, where smalloc record has not noted it")
      ->type_name("NAME");
  app.add_option("--budget", options->budget, "Choose at most this much (64m, 2g)")
      ->type_name("SIZE");
  app.add_option("--pages", options->pages,
                 "Page sizes to decide between, besides base pages: 2m, or a list of 64k, 2m and "
                 "1g, or all that the machine's TLB has entries for")
      ->type_name("SIZES");
  app.add_option(
         "--categories", options->categories,
         "site; context: each inlined copy of a site by itself; dynamic: sites that are accessed "
         "alike together; object: each object of 2 MiB or more; or paper: static, small and large "
         "dynamic data")
      ->type_name("KIND")
      ->check(CLI::IsMember({"site", "context", "dynamic", "object", "paper"}).description(""));
  app.add_option(
         "--associativity", options->associativity,
         "sets: those of the TLB; paper: none, and a TLB that is smaller by one of the ways")
      ->type_name("MODEL")
      ->check(CLI::IsMember({"sets", "paper"}).description(""));
  app.add_option("--significance", options->significance,
                 "share: 1 % of the time in walks and first touches, and 1 ms; paper: 100,000 TLB "
                 "misses or 1,000 faults a second")
      ->type_name("RULE")
      ->check(CLI::IsMember({"share", "paper"}).description(""));
  app.add_option("--seconds", options->profile.seconds,
                 "How long the program runs unrecorded (else the recording's time)")
      ->type_name("S")
      ->check(number_between(1e-9, 1e9, "seconds above 0"));
  app.add_flag("--other-input", options->profile.other_input,
               "Choose by PMB alone, for runs with another input");
  app.add_option("--least-pmb", options->profile.least_pmb_percent,
                 "Choose nothing below this PMB (1)")
      ->type_name("PERCENT")
      ->check(number_between(0, 100, "a percentage from 0 to 100"));
  app.add_flag(
      "--unbounded", options->unbounded,
      "Read all that the traces stand for, whatever that takes: small files can stand for hours");
  app.add_option("--mappings", options->profile.most_mappings,
                 "Evaluate the sites with the most accesses (24)")
      ->type_name("N");
  add_document_options(app, options->output);
  return [options] { return run_analyze(*options); };
}

} // namespace

const Verb kAnalyzeVerb = {
    "analyze",
    "what superpages would save, site by site, from recorded traces",
    "Puts each site on superpages in a simulated TLB while everything else stays on base pages, "
    "and ranks the "
    "sites by the cycles saved (PMB: percentage of the maximal benefit) and the superpages needed. "
    "Several traces are summed. The directives file makes the choice take effect.",
    {{"smalloc analyze app.trace -o app.directives",
      "the ranking, and a file for SMALLOC_CONF=directives:"},
     {"smalloc analyze small.trace big.trace --budget 64m --json",
      "two inputs together, at most 32 superpages, for scripts"}},
    declare};

} // namespace smalloc::cli
