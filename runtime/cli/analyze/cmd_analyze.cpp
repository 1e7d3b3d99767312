// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cmd_analyze.cpp implements `smalloc analyze` and explains traces that hold too little.
#include "runtime/cli/analyze/analyze_report.h"
#include "runtime/cli/analyze/trace_gaps.h"
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
#include <memory>
#include <optional>
#include <sstream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace smalloc::cli {
namespace {

using Json = nlohmann::ordered_json;

struct AnalyzeOptions {
  OutputOptions output; // its file is not used: -o names the directives file
  ProfileOptions profile;
  std::string directives, machine, budget, categories = "site", significance = "share",
                                           associativity = "sets";
  std::string database, input, plot, pages = "2m";
  bool no_database = false, unbounded = false;
};

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
bool with_the_history(const AnalyzeOptions &options, std::optional<Failure> &refused,
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

bool is_of_sites(benefit::Grouping grouping) {
  return grouping != benefit::Grouping::kPaper && grouping != benefit::Grouping::kObject;
}

// Checks before minutes of work whether the results can be written.
void check_outputs(const AnalyzeOptions &options) {
  if (!options.directives.empty())
    check_can_write(expand_file_name(options.directives), "-o");
  if (!options.plot.empty())
    check_can_write(expand_file_name(options.plot), "--plot");
}

// Fills the options of the profile from the words of the command line.
void read_words(AnalyzeOptions &options) {
  if (!options.budget.empty())
    options.profile.budget_bytes = parse_budget(options.budget);
  options.profile.grouping = options.categories == "paper"     ? benefit::Grouping::kPaper
                             : options.categories == "context" ? benefit::Grouping::kContext
                             : options.categories == "dynamic" ? benefit::Grouping::kDynamic
                             : options.categories == "object"  ? benefit::Grouping::kObject
                                                               : benefit::Grouping::kSite;
  options.profile.rule = options.significance == "paper" ? benefit::SignificanceRule::kPaper
                                                         : benefit::SignificanceRule::kShare;
}

// Returns the input to name in the directives; empty: unknown, or the traces have several.
std::string analyzed_input(const AnalyzeOptions &options, const Profile &profile) {
  if (!options.input.empty())
    return input_of({"", options.input});
  const std::string &input = profile.traces.front().input;
  const bool shared = std::all_of(profile.traces.begin(), profile.traces.end(),
                                  [&](const TraceSummary &t) { return t.input == input; });
  return shared ? input : std::string();
}

// Writes the directives, and warns if there are none, or fewer than the estimate promises.
void write_directives(const AnalyzeOptions &options, const Profile &profile,
                      const directives::File &file) {
  if (file.entries.empty() && !is_of_sites(options.profile.grouping))
    print_warning("no directives", options.directives,
                  options.profile.grouping == benefit::Grouping::kPaper
                      ? "--categories paper gives no sites, and a directive is for a site"
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
        "the sample is too small to be sure that they gain; the compiler decides for them",
        "smalloc record --rate 1 -- " + program_of(profile));
}

// Names the command that runs the program with the directives.
void note_next_command(const std::string &directives, const Profile &profile) {
  // A program that records its accesses would record them again, on base pages, without trace:off.
  const std::string &program = profile.traces.front().program;
  const Target target = program.empty() ? Target() : inspect(program);
  print_note(
      "next: " +
      (target.needs_preload
           ? "smalloc apply --directives " + study::shell_word(directives) + " -- "
           : "SMALLOC_CONF=directives:" + study::shell_word(as_file_name_of_conf(directives)) +
                 (target.tells_accesses ? ",trace:off " : " ")) +
      program_of(profile));
}

Profile analyse_with_progress(const AnalyzeOptions &options, const benefit::CostModel &costs) {
  Progress progress("analyzing", options.output.quiet);
  return analyse(options.profile, costs,
                 [&](double fraction, const char *what) { progress.show(fraction, what); });
}

// Throws if a threshold's key is missing, before anything is written.
void check_keys_exist(const std::vector<FailIf> &thresholds, const Json &document) {
  for (const FailIf &threshold : thresholds) {
    std::string found;
    crosses(threshold, document, found);
  }
}

int run_analyze(AnalyzeOptions &options) {
  const auto thresholds = parse_thresholds(options.output);
  set_quiet(options.output.quiet);
  trace::ReadingLimits::lifted = options.unbounded;
  check_outputs(options);
  read_words(options);
  format::MachineProfile machine = load_profile_for_traces(options.machine);
  if (options.associativity == "paper")
    machine = benefit::without_sets(std::move(machine));
  const AnalyzeWords words = {expand_file_name(options.directives), options.significance,
                              !options.budget.empty()};
  for (const FailIf &threshold : thresholds)
    check_key(threshold, analyze_document(words, options.profile, {}, {}, machine));
  const benefit::CostModel costs(machine);
  options.profile.pages = parse_pages(options.pages, machine, costs);
  const Profile profile = analyse_with_progress(options, costs);
  explain_gaps(profile, !options.directives.empty());
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
  check_keys_exist(thresholds, document);
  directives::File file = analyze_directives(options.profile, profile, expected, machine);
  if (!one_program)
    file.header.erase("program"); // the directives apply to any program that has the sites
  if (const std::string input = analyzed_input(options, profile); !input.empty())
    file.header["input"] = input;
  // Categories that no directive can follow are not stored: they predict no runs.
  if (history && options.associativity == "sets" && is_of_sites(options.profile.grouping))
    with_the_history(options, refused, [&] {
      file = remember_analysis(*history, profile, expected.by_calibration, machine, file);
    });
  if (!options.directives.empty())
    write_directives(options, profile, file);
  if (!options.plot.empty())
    write_text(options.plot, analyze_plot(profile), "--plot");
  const int status = finish(options.output, thresholds, document, [&](Colour colour) {
    return analyze_text(words, options.profile, profile, expected, colour);
  });
  point_to_contexts(profile);
  if (!options.directives.empty() && !file.entries.empty())
    note_next_command(words.directives, profile);
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

// Declares the options of what is evaluated, and by which rules it is chosen.
void declare_choice(CLI::App &app, const std::shared_ptr<AnalyzeOptions> &options) {
  app.add_option("--budget", options->budget,
                 "Choose at most this much memory for superpages (64m, 2g)")
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
  app.add_option("--associativity", options->associativity,
                 "sets: the TLB's own sets; paper: a fully associative TLB with one way fewer")
      ->type_name("MODEL")
      ->check(CLI::IsMember({"sets", "paper"}).description(""));
  app.add_option("--significance", options->significance,
                 "share: 1 % of the time in walks and first touches, and 1 ms; paper: 100,000 TLB "
                 "misses or 1,000 faults a second")
      ->type_name("RULE")
      ->check(CLI::IsMember({"share", "paper"}).description(""));
  app.add_option("--seconds", options->profile.seconds,
                 "Time of a run without recording (default: the recording's time)")
      ->type_name("S")
      ->check(number_between(1e-9, 1e9, "seconds above 0"));
  app.add_flag("--other-input", options->profile.other_input,
               "Choose by PMB alone, for runs with another input");
  app.add_option("--least-pmb", options->profile.least_pmb_percent,
                 "Choose nothing below this PMB (1)")
      ->type_name("PERCENT")
      ->check(number_between(0, 100, "a percentage from 0 to 100"));
  app.add_flag("--unbounded", options->unbounded,
               "Read the whole traces without limits of time and memory: small files can hold "
               "hours of accesses");
  app.add_option("--mappings", options->profile.most_mappings,
                 "Evaluate the sites with the most accesses (24)")
      ->type_name("N");
}

std::function<int()> declare_analyze(CLI::App &app) {
  auto options = std::make_shared<AnalyzeOptions>();
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
  declare_choice(app, options);
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
    declare_analyze};

} // namespace smalloc::cli
