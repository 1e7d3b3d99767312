// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// records.h defines what the history has rows of. The members with the names of columns are listed
// once, by visit_columns(): statements, rows and documents are made from that list.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace smalloc::database {

/// True of a record and of a constant one.
template <class Row, class Record>
concept Is = std::same_as<std::remove_const_t<Row>, Record>;

/// Calls visit(name, member) for each pair of arguments.
template <class Visit> void visit_each(const Visit &) {}
template <class Visit, class Member, class... Rest>
void visit_each(const Visit &visit, const char *name, Member &member, Rest &&...rest) {
  visit(name, member);
  visit_each(visit, rest...);
}

struct Program {
  std::string build_id, path;
  int64_t first_seen_ns = 0, last_seen_ns = 0;
  int64_t runs = 0, analyses = 0, directives = 0; ///< numbers stored for the program
};

struct Machine {
  std::string host, profile, cpu;
  int64_t processors = 0, memory_bytes = 0, last_seen_ns = 0;
};

/// Result of one directive in one run.
struct Validation {
  std::string site, context; ///< 16 hex digits; context may be empty
  bool taken = false;        ///< the agent gave it superpages
  int64_t superpages_predicted = 0, superpages_peak = 0, live_bytes_peak = 0;
  std::string verdict; ///< held, failed, or why it is neither
};

/// Calls visit(name, member) for each column of validations, without the run.
template <Is<Validation> Row, class Visit> void visit_columns(Row &r, const Visit &visit) {
  visit_each(visit, "site", r.site, "context", r.context, "taken", r.taken, "superpages_predicted",
             r.superpages_predicted, "superpages_peak", r.superpages_peak, "live_bytes_peak",
             r.live_bytes_peak, "verdict", r.verdict);
}

struct Run {
  int64_t id = 0;
  std::string program, path, host, machine;
  int64_t pid = 0, started_ns = 0;
  std::string kind;  ///< recorded: under smalloc record; base: no site on superpages; superpages
  std::string input; ///< 16 hex digits; empty: unknown
  std::optional<double> seconds, user_seconds, system_seconds;
  std::optional<int64_t> peak_bytes, minor_faults, major_faults;
  std::optional<int64_t> tlb_misses; ///< in user mode; unknown without a PMU
  /// Superpages touched in advance, and the seconds that this took; unknown if there were none.
  std::optional<int64_t> superpages_touched;
  std::optional<double> touch_seconds;
  std::string policy; ///< same-input, other-input, base; empty: no agent
  std::optional<double> bar_percent;
  std::optional<int64_t> superpages_supply, superpages_peak, superpages_at_first_touch, promotions,
      migrations, live_bytes_peak;
  std::vector<Validation> validations;
};

/// Calls visit(name, member) for each column of runs, without its number and the path.
template <Is<Run> Row, class Visit> void visit_columns(Row &r, const Visit &visit) {
  visit_each(visit, "program", r.program, "host", r.host, "machine", r.machine, "pid", r.pid,
             "started_ns", r.started_ns, "kind", r.kind, "input", r.input, "seconds", r.seconds,
             "user_seconds", r.user_seconds, "system_seconds", r.system_seconds, "peak_bytes",
             r.peak_bytes, "minor_faults", r.minor_faults, "major_faults", r.major_faults,
             "tlb_misses", r.tlb_misses, "superpages_touched", r.superpages_touched,
             "touch_seconds", r.touch_seconds, "policy", r.policy, "bar_percent", r.bar_percent,
             "superpages_supply", r.superpages_supply, "superpages_peak", r.superpages_peak,
             "superpages_at_first_touch", r.superpages_at_first_touch, "promotions", r.promotions,
             "migrations", r.migrations, "live_bytes_peak", r.live_bytes_peak);
}

struct RankedCategory {
  int64_t rank = 0;
  std::string kind, category, function, file;
  int64_t line = 0, superpages = 0, footprint_bytes = 0;
  double saved_cycles = 0, saved_low = 0, saved_high = 0, pmb_percent = 0;
  bool chosen = false;
};

/// Calls visit(name, member) for each column of rankings, without the analysis.
template <Is<RankedCategory> Row, class Visit> void visit_columns(Row &r, const Visit &visit) {
  visit_each(visit, "rank", r.rank, "kind", r.kind, "category", r.category, "function", r.function,
             "file", r.file, "line", r.line, "superpages", r.superpages, "footprint_bytes",
             r.footprint_bytes, "saved_cycles", r.saved_cycles, "saved_low", r.saved_low,
             "saved_high", r.saved_high, "pmb_percent", r.pmb_percent, "chosen", r.chosen);
}

struct Analysis {
  int64_t id = 0;
  std::string program, path, machine, input;
  int64_t created_ns = 0, traces = 0;
  double accesses = 0, seconds = 0, cycles_base = 0, saved_all = 0, saved_joint = 0;
  /// Predicted saving of one run by what directives reach, before runs have taught anything
  /// (realisation.h).
  std::optional<double> saved_seconds;
  /// TLB misses predicted for one run: all on base pages, and with what directives reach.
  std::optional<double> tlb_misses_base, tlb_misses_directed;
  /// Page faults likewise; and seconds of a superpage's first touch, by the machine profile.
  std::optional<double> page_faults_base, page_faults_directed, touch_seconds;
  bool significant = false;
  int64_t superpages_chosen = 0;
  std::vector<RankedCategory> ranking;
};

/// Calls visit(name, member) for each column of analyses, without its number and the path.
template <Is<Analysis> Row, class Visit> void visit_columns(Row &r, const Visit &visit) {
  visit_each(visit, "program", r.program, "created_ns", r.created_ns, "machine", r.machine, "input",
             r.input, "traces", r.traces, "accesses", r.accesses, "seconds", r.seconds,
             "significant", r.significant, "cycles_base", r.cycles_base, "saved_all", r.saved_all,
             "saved_joint", r.saved_joint, "superpages_chosen", r.superpages_chosen,
             "saved_seconds", r.saved_seconds, "tlb_misses_base", r.tlb_misses_base,
             "tlb_misses_directed", r.tlb_misses_directed, "page_faults_base", r.page_faults_base,
             "page_faults_directed", r.page_faults_directed, "touch_seconds", r.touch_seconds);
}

} // namespace smalloc::database
