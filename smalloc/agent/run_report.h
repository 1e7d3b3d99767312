// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// run_report.h decides what a program that ran with directives (or validate:on) leaves behind for the next smalloc command: one line of
// JSON (smalloc.run/1) at the end of $XDG_STATE_HOME/smalloc/runs/<build-id>.jsonl, in one write, readable by its owner
// alone; and when a directive counts as having held.
#ifndef SMALLOC_AGENT_RUN_REPORT_H
#define SMALLOC_AGENT_RUN_REPORT_H

#include "smalloc/agent/agent.h"
#include "smalloc/base/text.h"

namespace smalloc {

enum class Verdict : uint8_t {
  kHeld,     ///< superpages under at least half of what was predicted, or of what was live
  kFailed,   ///< they could be had, and the site did not turn out as the profile said
  kShort,    ///< they could not be had, or nobody can tell: says nothing of the directive
  kUnused,   ///< another input, which hardly uses the site
  kNotTaken, ///< the agent gave it none
};
const char *verdict_name(Verdict verdict);
const char *policy_name(Policy policy);

/// How a site turned out.
struct SiteOutcome {
  DirectiveOutcome decision = DirectiveOutcome::kNothing;
  uint64_t predicted = 0, superpages_peak = 0; ///< superpages
  uint64_t live_bytes_peak = 0;
  unsigned page_shift = 21;        ///< what its directive names
  bool possible = true;            ///< such pages can be had, and our heaps run
  bool others_had_it = false;      ///< children of the process, perhaps, which do not report
  bool small_objects = false;      ///< whose superpages are their heap's: not known by site
  bool heap_on_superpages = false; ///< at least half of that heap
};
/// refused: the kernel, a limit or the budget has refused superpages (page=64k: such pages) to this process.
Verdict judge(const SiteOutcome &outcome, Policy policy, bool refused);

struct RunReport {
  const char *build_id = "", *path = "", *host = "", *machine = "";
  uint64_t pid = 0, started_ns = 0, ended_ns = 0;
  bool input_known = false;
  uint64_t input = 0;
  uint64_t user_us = 0, system_us = 0;
  uint64_t peak_bytes = 0, minor_faults = 0, major_faults = 0;
  bool misses_known = false;
  uint64_t tlb_misses = 0; ///< by the PMU, in user mode
  uint64_t superpages_touched = 0,
           touch_us = 0; ///< in advance, and timed (pages/first_touch_cost.h)
  Policy policy = Policy::kNone;
  uint64_t bar_thousandths = 0, superpages_supply = 0;
  uint64_t medium_got = 0; ///< requests of directives that got pages of 64 KiB
  uint64_t superpages_peak = 0, superpages_at_first_touch = 0, promotions = 0, migrations = 0,
           live_bytes_peak = 0;
};

/// One line, in memory of the caller's. What does not fit of the list of directives is left out; the line is whole in any case.
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

/// state: XDG_STATE_HOME; home: HOME; either may be nullptr. Makes the folders. Returns nullptr, or why nothing was written.
const char *append_run(const char *state, const char *home, const char *build_id, Text line);

} // namespace smalloc
#endif
