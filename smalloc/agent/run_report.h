// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// run_report.h reports the run of a program with directives (or validate:on) to the next smalloc
// command. It appends one line of JSON (smalloc.run/1) to
// $XDG_STATE_HOME/smalloc/runs/<build-id>.jsonl, in one write; only the owner may read it. It also
// defines when a directive counts as having held.
#ifndef SMALLOC_AGENT_RUN_REPORT_H
#define SMALLOC_AGENT_RUN_REPORT_H

#include "smalloc/agent/agent.h"
#include "smalloc/base/text.h"

namespace smalloc {

enum class Verdict : uint8_t {
  kHeld,     ///< superpages under at least half of the prediction, or of the live memory
  kFailed,   ///< they were available, and the site was not as profiled
  kShort,    ///< not available, or unknown: proves nothing about the directive
  kUnused,   ///< another input, which hardly uses the site
  kNotTaken, ///< the agent gave it no superpages
};
const char *verdict_name(Verdict verdict);
const char *policy_name(Policy policy);

/// Result of a site in this run.
struct SiteOutcome {
  DirectiveOutcome decision = DirectiveOutcome::kNothing;
  uint64_t predicted = 0, superpages_peak = 0; ///< in superpages
  uint64_t live_bytes_peak = 0;
  unsigned page_shift = 21;   ///< named by its directive
  bool possible = true;       ///< pages of this kind are available, and libsmalloc's heaps run
  bool others_had_it = false; ///< perhaps children of the process have them, which do not report
  bool small_objects = false; ///< their superpages belong to a heap and are not known by site
  bool heap_on_superpages = false; ///< at least half of that heap is on superpages
};
/// Returns the verdict on a directive. `refused`: the kernel, a limit or the budget has refused
/// this process superpages (page=64k: 64 KiB pages).
Verdict judge(const SiteOutcome &outcome, Policy policy, bool refused);

struct RunReport {
  const char *build_id = "", *path = "", *host = "", *machine = "";
  uint64_t pid = 0, started_ns = 0, ended_ns = 0;
  bool input_known = false;
  uint64_t input = 0;
  uint64_t user_us = 0, system_us = 0;
  uint64_t peak_bytes = 0, minor_faults = 0, major_faults = 0;
  bool misses_known = false;
  uint64_t tlb_misses = 0; ///< counted by the PMU, in user mode
  /// Superpages populated in advance, and the time that took (pages/first_touch_cost.h).
  uint64_t superpages_touched = 0, touch_us = 0;
  Policy policy = Policy::kNone;
  uint64_t bar_thousandths = 0, superpages_supply = 0;
  uint64_t medium_got = 0; ///< requests of directives that got pages of 64 KiB
  uint64_t superpages_peak = 0, superpages_at_first_touch = 0, promotions = 0, migrations = 0,
           live_bytes_peak = 0;
};

/// Builds one line in the caller's memory. If the list of directives does not fit, it drops the
/// rest; the line stays valid.
class RunLine {
public:
  RunLine(char *buffer, size_t capacity) : data_(buffer), capacity_(capacity) {}
  void begin(const RunReport &report);
  void directive(const Directives::Entry &entry, const SiteOutcome &outcome, Verdict verdict);
  void end();
  Text text() const { return Text(data_, size_); }

private:
  void raw(Text text);
  void number(const char *key, uint64_t value);
  void seconds(const char *key, uint64_t microseconds);
  void string(const char *key, const char *value);
  char *data_;
  size_t capacity_, size_ = 0;
  unsigned directives_ = 0;
};

/// Appends a line to the file of runs and makes its folders. `state`: XDG_STATE_HOME; `home`: HOME;
/// either may be nullptr. Returns nullptr, or why nothing was written.
const char *append_run(const char *state, const char *home, const char *build_id, Text line);

} // namespace smalloc
#endif
