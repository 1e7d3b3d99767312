// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cmd_analyze.cpp decides what `smalloc analyze` accepts, and how its result becomes text, the document
// smalloc.analyze/1, and a directives file.
#include "runtime/cli/diagnostics.h"
#include "runtime/cli/history_store.h"
#include "runtime/cli/launch.h"
#include "runtime/cli/output.h"
#include "runtime/cli/profile.h"
#include "runtime/cli/profile_store.h"
#include "runtime/cli/site_report.h"
#include "runtime/cli/verbs.h"
#include "runtime/directives/directives_file.h"
#include "runtime/study/command_line.h"
#include "runtime/study/plot.h"

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <memory>
#include <sstream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace smalloc::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  OutputOptions output; // its file is not used: -o is the directives file
  ProfileOptions profile;
  std::string directives, machine, budget, categories = "site", significance = "share";
  std::string database, input, plot;
  bool no_database = false;
};

// Regions of a sampled trace below which its estimates are off by some 20 % and more (one over the square root).
constexpr size_t kFewRegions = 30;

const char *kind_name(benefit::CategoryKind kind) {
  switch (kind) {
  case benefit::CategoryKind::kStatic:
    return "static";
  case benefit::CategoryKind::kSizeClass:
    return "size_class";
  case benefit::CategoryKind::kSiteContext:
    return "site_context";
  default:
    return "site";
  }
}

std::string hex(uint64_t id) { return fmt::format("{:016x}", id); }

Json text_or_null(const std::string &text) { return text.empty() ? Json() : Json(text); }

Json chain_of(const RankedMapping &m) {
  Json lines = Json::array();
  std::istringstream chain(m.chain);
  for (std::string line; std::getline(chain, line);)
    lines.push_back(line);
  return lines;
}

Json document_of(const Options &options, const Profile &p, const format::MachineProfile &machine) {
  Json traces = Json::array(), mappings = Json::array();
  for (const TraceSummary &t : p.traces)
    traces.push_back(Json{{"path", t.path},
                          {"build_id", text_or_null(t.build_id)},
                          {"sample_rate", t.rate},
                          {"allocations", t.allocations},
                          {"accesses", t.accesses},
                          {"seconds", t.seconds},
                          {"complete", t.complete},
                          {"file_bytes", t.file_bytes},
                          {"read_bytes", t.read_bytes}});
  for (size_t i = 0; i < p.mappings.size(); i++) {
    const RankedMapping &m = p.mappings[i];
    mappings.push_back(
        Json{{"rank", i + 1},
             {"category", Json{{"kind", kind_name(m.kind)},
                               {"id", hex(m.id)},
                               {"context", m.context ? Json(hex(m.context)) : Json()},
                               {"inlined_into", chain_of(m)},
                               {"function", text_or_null(m.function)},
                               {"file", text_or_null(m.file)},
                               {"line", m.line ? Json(m.line) : Json()}}},
             {"steerable", m.steerable},
             {"page_bytes", benefit::kSuperpageBytes},
             {"superpages", m.mapping.superpages},
             {"footprint_bytes", m.footprint_bytes},
             {"accesses", m.accesses},
             {"tlb_misses_base", m.tlb_misses_base},
             {"tlb_misses", m.tlb_misses},
             {"page_faults_base", m.page_faults_base},
             {"page_faults", m.page_faults},
             {"saved_cycles", m.mapping.saved_cycles},
             {"saved_cycles_low", m.mapping.saved_cycles_low},
             {"saved_cycles_high", m.mapping.saved_cycles_high},
             {"pmb_percent", m.mapping.pmb_percent},
             {"chosen", m.mapping.chosen}});
  }
  return Json{
      {"schema", "smalloc.analyze/1"},
      {"traces", traces},
      {"machine", machine.name},
      {"has_accesses", p.has_accesses},
      {"significant", p.significant},
      {"significance", Json{{"rule", options.significance},
                            {"tlb_misses_per_second", p.rates.tlb_misses_per_second},
                            {"page_faults_per_second", p.rates.page_faults_per_second},
                            {"translation_share", p.rates.translation_share}}},
      {"budget_bytes", options.budget.empty() ? Json() : Json(options.profile.budget_bytes)},
      {"categories", p.categories},
      {"miss_cycles_base", p.cycles_base},
      {"saved_cycles_all_superpages", p.saved_all},
      {"mappings", mappings},
      {"chosen", Json{{"superpages", p.superpages_chosen},
                      {"saved_cycles_joint", p.saved_joint},
                      {"saved_cycles_additive", p.saved_additive}}},
      {"directives_file", text_or_null(options.directives)}};
}

// A recording that holds nothing says nothing about the program, not that it has nothing to gain.
bool is_empty(const Profile &p) {
  return std::all_of(p.traces.begin(), p.traces.end(),
                     [](const TraceSummary &t) { return t.empty(); });
}

bool too_little(const Options &options, const Profile &p) {
  return options.profile.rule == benefit::SignificanceRule::kShare &&
         p.rates.translation_seconds < benefit::kLeastSeconds;
}

std::string text_of(const Options &options, const Profile &p, Colour colour) {
  if (is_empty(p))
    return "nothing to analyze: no allocation and no access was recorded\n";
  Table table({"RANK", "SITE", "WHERE", "PMB", "SUPERPAGES", "LIVE", "TLB MISSES", "SAVED CYCLES",
               "CHOSEN"});
  size_t rank = 0;
  for (const RankedMapping &m : p.mappings) {
    const bool site =
        m.kind == benefit::CategoryKind::kSite || m.kind == benefit::CategoryKind::kSiteContext;
    std::string where = m.line ? fmt::format("{}:{}", m.file, m.line) : site ? "" : m.file;
    if (m.context)
      where += " in " + m.chain.substr(0, m.chain.find('\n'));
    table.add_row({{std::to_string(++rank)},
                   {printable(m.function.empty() ? hex(m.id) : readable_function(m.function))},
                   {printable(where)},
                   {fmt::format("{:.1f}", m.mapping.pmb_percent)},
                   {std::to_string(m.mapping.superpages)},
                   {readable_bytes(m.footprint_bytes)},
                   {fmt::format("{:.3g} -> {:.3g}", m.tlb_misses_base, m.tlb_misses)},
                   {fmt::format("{:.3g} ({:.3g} to {:.3g})", m.mapping.saved_cycles,
                                m.mapping.saved_cycles_low, m.mapping.saved_cycles_high)},
                   {m.mapping.chosen ? "yes" : "", Style::kGood}});
  }
  std::string text = table.print(colour) + "\n";
  text +=
      fmt::format("significance: {} (translation {:.1f} % of the time, {:.3g} TLB misses/s, {:.3g} "
                  "page faults/s)\n",
                  p.significant            ? "yes"
                  : too_little(options, p) ? fmt::format("no, nothing is chosen: {:.2g} ms in all",
                                                         1000 * p.rates.translation_seconds)
                                           : "no, nothing is chosen",
                  100 * p.rates.translation_share, p.rates.tlb_misses_per_second,
                  p.rates.page_faults_per_second);
  text +=
      fmt::format("all on base pages: {:.3g} cycles in misses; all on superpages: {:.3g} saved\n",
                  p.cycles_base, p.saved_all);
  text += fmt::format("chosen: {} superpages, {:.3g} cycles saved together ({:.3g} as a sum)\n",
                      p.superpages_chosen, p.saved_joint, p.saved_additive);
  if (!options.directives.empty())
    text += fmt::format("directives: {}\n", options.directives);
  return text;
}

// PMB over superpages, a point a mapping (Cascaval et al. 2005, figure 5).
std::string plot_of(const Profile &p) {
  std::vector<study::Point> points;
  for (const RankedMapping &m : p.mappings) {
    const std::string where =
        m.line ? fmt::format(" {}:{}", std::filesystem::path(m.file).filename().string(), m.line)
               : std::string();
    points.push_back({static_cast<double>(m.mapping.superpages), m.mapping.pmb_percent,
                      printable(m.function.empty() ? hex(m.id) : readable_function(m.function)) +
                          printable(where),
                      m.mapping.chosen});
  }
  return study::scatter_svg("What each site's superpages are worth", "superpages",
                            "percentage of the maximal benefit", "chosen", points);
}

// The first line also says what to expect of a run, for validation (docs/directives.md).
directives::File directives_of(const Options &options, const Profile &p,
                               const format::MachineProfile &machine,
                               const benefit::CostModel &costs) {
  directives::File file;
  file.header["machine"] = machine.name;
  const double runs = static_cast<double>(std::max<size_t>(p.traces.size(), 1));
  double seconds = 0, faults_saved = 0;
  for (const TraceSummary &t : p.traces)
    seconds += t.seconds;
  for (const RankedMapping &m : p.mappings)
    if (m.mapping.chosen && m.steerable)
      faults_saved += m.page_faults_base - m.page_faults;
  if (options.profile.seconds > 0)
    seconds = options.profile.seconds * runs;
  file.header["seconds"] = fmt::format("{:.3f}", seconds / runs);
  file.header["faults_saved"] = fmt::format("{:.0f}", std::max(faults_saved, 0.0) / runs);
  file.header["saved_ms"] =
      fmt::format("{:.0f}", std::max(p.saved_steerable, 0.0) / costs.frequency_hz() * 1000 / runs);
  if (!p.traces.empty() && !p.traces.front().build_id.empty())
    file.header["program"] = p.traces.front().build_id;
  for (const RankedMapping &m : p.mappings) {
    if (!m.steerable)
      continue; // neither compiler nor allocator can move it
    directives::Entry entry;
    entry.page_shift = m.mapping.chosen ? 21 : 12;
    entry.superpages = m.mapping.superpages;
    entry.pmb_percent = std::round(m.mapping.pmb_percent * 10) / 10;
    entry.comment = m.line ? fmt::format("{} {}:{}", readable_function(m.function), m.file, m.line)
                           : readable_function(m.function);
    if (m.context)
      entry.comment += " in " + m.chain.substr(0, m.chain.find('\n'));
    file.entries[{m.id, m.context != 0, m.context}] = entry;
  }
  directives::give_ranks(file);
  return file;
}

// The program that was recorded, as a shell takes it.
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

// Throws where nothing can be said: the file was cut before anything of use.
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
    // A program that tells its accesses, of which the sample had none, needs no other compiler option.
    const bool unsampled =
        first.rate < 1 && !first.program.empty() && inspect(first.program).tells_accesses;
    print_warning(
        "no data accesses", first.path,
        unsampled
            ? fmt::format("at rate {} none of the 2 MiB regions that it accesses was sampled; "
                          "only first touches are estimated",
                          first.rate)
            : "only first touches are estimated, as if every object were written once",
        unsampled
            ? "smalloc record --rate 1 -- " + program_of(p)
            : "compile with -fplugin-arg-smalloc-profile-generate, then smalloc record --rate 1");
  }
  for (const TraceSummary &t : p.traces)
    if (t.rate < 1 && t.regions < kFewRegions && p.has_accesses)
      print_warning(
          "few sampled regions", t.path,
          fmt::format("{} of 2 MiB at rate {}: what they say of the others is far from sure",
                      t.regions, t.rate),
          "smalloc record --rate 1 -- " + program_of(p));
  if (options.directives.empty())
    return;
  const auto chosen = [](const RankedMapping &m) {
    return m.mapping.chosen && m.kind == benefit::CategoryKind::kStatic;
  };
  if (std::any_of(p.mappings.begin(), p.mappings.end(), chosen))
    print_note("static data is chosen, too, and no directive carries it: SMALLOC_CONF=static:on");
}

// A line that is rewritten in place, on a terminal, after one second.
class Progress {
public:
  explicit Progress(bool wanted) : wanted_(wanted && isatty(STDERR_FILENO)) {}
  ~Progress() { clear(); }
  void operator()(double fraction, const char *what) {
    using Clock = std::chrono::steady_clock;
    const auto now = Clock::now();
    if (!wanted_ || now - start_ < std::chrono::seconds(1) ||
        now - last_ < std::chrono::milliseconds(200))
      return;
    last_ = now;
    std::fprintf(stderr, "\r%s: %3.0f %%", what, 100 * std::min(fraction, 1.0));
    shown_ = true;
  }
  void clear() {
    if (shown_)
      std::fprintf(stderr, "\r%30s\r", "");
    shown_ = false;
  }

private:
  bool wanted_, shown_ = false;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now(), last_ = start_;
};

// "64m", "2g", a number of bytes.
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

// The history gets the analysis, and says what is left of its directives after earlier runs. Without --db, a
// history that cannot be used is no reason to hold back the result.
directives::File remembered(const Options &options, const Profile &profile,
                            const format::MachineProfile &machine, const directives::File &file) {
  if (options.no_database || profile.traces.front().build_id.empty() || is_empty(profile))
    return file;
  try {
    auto history = open_history(options.database, database::Access::kReadWrite);
    return remember_analysis(history, profile, machine, file);
  } catch (const database::DatabaseError &error) {
    if (!options.database.empty())
      throw failure_of(error);
    const Failure failure = failure_of(error);
    print_warning("the analysis is not stored", failure.which, failure.why, failure.hint);
  } catch (const Failure &failure) {
    if (!options.database.empty())
      throw;
    print_warning("the analysis is not stored", failure.which, failure.why, failure.hint);
  }
  return file;
}

int run_analyze(Options &options) {
  const auto thresholds = parse_thresholds(options.output);
  set_quiet(options.output.quiet);
  if (!options.budget.empty())
    options.profile.budget_bytes = parse_budget(options.budget);
  options.profile.grouping = options.categories == "paper"     ? benefit::Grouping::kPaper
                             : options.categories == "context" ? benefit::Grouping::kContext
                                                               : benefit::Grouping::kSite;
  options.profile.rule = options.significance == "paper" ? benefit::SignificanceRule::kPaper
                                                         : benefit::SignificanceRule::kShare;
  const format::MachineProfile machine = load_profile(options.machine);
  for (const FailIf &threshold : thresholds)
    check_key(threshold, document_of(options, {}, machine));
  const benefit::CostModel costs(machine);
  Progress progress(!options.output.quiet);
  const Profile profile = analyse(options.profile, costs, std::ref(progress));
  progress.clear();
  explain_gaps(options, profile);
  const Json document = document_of(options, profile, machine);
  for (const FailIf &threshold : thresholds) { // refused before anything is written
    std::string found;
    crosses(threshold, document, found);
  }
  directives::File file = directives_of(options, profile, machine, costs);
  if (!options.input.empty())
    file.header["input"] = input_of({"", options.input});
  file = remembered(options, profile, machine, file);
  if (!options.directives.empty()) {
    if (file.entries.empty() && !is_empty(profile))
      print_warning(
          "no directives", options.directives,
          "no site of the traces was compiled with the plugin, so none can be steered",
          "clang -O2 -fplugin=SmallocPlugin.so -fplugin-arg-smalloc-rewrite=all app.c -o app");
    write_text(options.directives, directives::print(file));
  }
  if (!options.plot.empty())
    write_text(options.plot, plot_of(profile));
  const int status = finish(options.output, thresholds, document,
                            [&](Colour colour) { return text_of(options, profile, colour); });
  if (!options.directives.empty() && !file.entries.empty())
    print_note("next: SMALLOC_CONF=directives:" + study::shell_word(options.directives) + " " +
               program_of(profile));
  return status;
}

// Not CLI::Range, which lets nan pass.
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
                 "Preset or profile; without it, this machine's preset")
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
  app.add_option(
         "--categories", options->categories,
         "site; context: each inlined copy of a site by itself; or paper: static, small and "
         "large dynamic data")
      ->type_name("KIND")
      ->check(CLI::IsMember({"site", "context", "paper"}).description(""));
  app.add_option("--significance", options->significance,
                 "share: 1 % of the cycles in misses, and 1 ms; paper: 100,000 TLB misses or 1,000 "
                 "faults a "
                 "second")
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
