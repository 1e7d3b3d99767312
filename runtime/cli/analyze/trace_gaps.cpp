// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// trace_gaps.cpp compares what the traces hold with what an analysis and its directives need:
// accesses, enough sampled regions, the traces of parents, one program, sites of the plugin.
#include "runtime/cli/analyze/trace_gaps.h"

#include "runtime/cli/analyze/analyze_report.h"
#include "runtime/cli/installation.h"
#include "runtime/cli/process/launch.h"
#include "runtime/cli/sites/site_report.h"
#include "runtime/errors/diagnostics.h"
#include "runtime/study/command_line.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

namespace smalloc::cli {

// With fewer regions in a sampled trace, its estimates are off by 20 % and more (one over the
// square root).
constexpr size_t kFewRegions = 30;
// Share of accesses; below it, memory that cannot be steered is not worth a line.
constexpr double kMostNobodys = 0.05;

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

namespace {

std::string record_again(const Profile &p) { return "smalloc record --rate 1 -- " + program_of(p); }

// Warns that the traces are empty. Throws if the first one is, because it was cut.
void warn_of_empty_traces(const Profile &p) {
  const TraceSummary &first = p.traces.front();
  const std::string again =
      "smalloc record -o " + study::shell_word(first.path) + " -- " + program_of(p);
  if (first.read_bytes < first.file_bytes)
    throw Failure{
        "cannot analyze the trace", first.path,
        fmt::format("it is truncated, and the {} of {} bytes that can be read hold no allocation "
                    "and no access",
                    first.read_bytes, first.file_bytes),
        again, kFailed};
  print_warning("nothing to analyze", first.path, "it holds no allocation and no access", again);
}

void warn_of_no_accesses(const Profile &p) {
  const TraceSummary &first = p.traces.front();
  // A program that records its accesses, none of them sampled, needs no other compiler option.
  if (first.rate < 1 && !first.program.empty() && inspect(first.program).tells_accesses)
    print_warning("no data accesses", first.path,
                  fmt::format("at rate {:.4g} none of the 2 MiB regions that it accesses was "
                              "sampled; only first touches are estimated",
                              first.rate),
                  record_again(p));
  else
    print_warning(
        "no data accesses", first.path,
        "only first touches are estimated, as if every object were written once",
        "compile with -fplugin-arg-smalloc-profile-generate, then smalloc record --rate 1");
}

// Names a trace that begins with a fork of a process whose trace is not analysed.
void note_missing_parents(const Profile &p) {
  const auto is_orphan = [](const TraceSummary &t) { return !t.parent.empty() && !t.forked(); };
  if (const auto orphan = std::find_if(p.traces.begin(), p.traces.end(), is_orphan);
      orphan != p.traces.end())
    print_note(fmt::format(
        "{} of {} traces are of forked processes without the parent's trace, such as {} of a child "
        "of process {}: the memory that it inherited then has no site, and it counts as a run",
        std::count_if(p.traces.begin(), p.traces.end(), is_orphan), p.traces.size(), orphan->path,
        printable(orphan->parent)));
}

void note_chosen_static_data(const Profile &p) {
  const auto chosen = [](const RankedMapping &m) {
    return m.mapping.chosen && m.kind == benefit::CategoryKind::kStatic;
  };
  if (std::any_of(p.mappings.begin(), p.mappings.end(), chosen))
    print_note("static data is chosen, too, but a directive cannot name it: set "
               "SMALLOC_CONF=program:static");
}

} // namespace

void explain_gaps(const Profile &p, bool gives_directives) {
  if (is_empty(p))
    return warn_of_empty_traces(p);
  if (!p.has_accesses)
    warn_of_no_accesses(p);
  for (const TraceSummary &t : p.traces)
    if (t.faults)
      print_warning("no data accesses", t.path,
                    "page faults were recorded: only first touches are known",
                    "compile with -fplugin-arg-smalloc-profile-generate, then smalloc record");
  for (const TraceSummary &t : p.traces)
    if (t.rate < 1 && t.regions < kFewRegions && p.has_accesses)
      print_warning(
          "few sampled regions", t.path,
          fmt::format("{} of 2 MiB at rate {:.4g}: too few for a reliable estimate of the others",
                      t.regions, t.rate),
          record_again(p));
  for (const TraceSummary &t : p.traces)
    if (t.nobodys > kMostNobodys * t.accesses)
      print_note(fmt::format("{:.0f} % of the accesses of {} are to memory without a site: mapped "
                             "by the program, or allocated before the recording",
                             100 * t.nobodys / t.accesses, t.path));
  note_missing_parents(p);
  if (gives_directives)
    note_chosen_static_data(p);
}

void point_to_contexts(const Profile &profile) {
  for (const RankedMapping &m : profile.mappings)
    if (m.copies > 1 && m.mapping.saved_cycles > 0) {
      print_note(fmt::format("{} {}:{} is inlined into {} places, ranked as one: --categories "
                             "context ranks each",
                             readable_function(m.function), m.file, m.line, m.copies));
      return;
    }
}

bool is_one_program(const Profile &p) {
  const TraceSummary &first = p.traces.front();
  for (const TraceSummary &t : p.traces)
    if (!t.build_id.empty() && !first.build_id.empty() && t.build_id != first.build_id &&
        t.program != first.program) {
      print_warning("traces of different programs", t.path,
                    t.program + ", the first is of " + first.program +
                        ": their sum describes neither program, and is not stored",
                    "smalloc analyze each program's traces by themselves");
      return false;
    }
  return true;
}

void warn_of_no_directives(const std::string &file, const Profile &p) {
  if (p.plugin_sites == 0)
    return print_warning(
        "no directives", file,
        "no site of the traces was compiled with the plugin, so directives have no effect",
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
                sampled ? record_again(p) : "smalloc analyze --mappings N, with a larger number");
}

} // namespace smalloc::cli
