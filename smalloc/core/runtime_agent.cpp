// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// runtime_agent.cpp describes the process to the agent (placement by directives) at the start, and
// reports the run at the end. Between them runtime_migrate.cpp connects the agent with the heaps.
// All of this is inactive without the settings directives: and validate:.
#include "smalloc/agent/agent.h"
#include "smalloc/agent/run_report.h"
#include "smalloc/base/clock.h"
#include "smalloc/base/fnv.h"
#include "smalloc/base/keep_errno.h"
#include "smalloc/core/runtime.h"
#include "smalloc/os/page_settings.h"
#include "smalloc/os/scratch_pages.h"
#include "smalloc/pages/kernel_view.h"
#include "smalloc/process/miss_counter.h"
#include "smalloc/process/process_identity.h"
#include "smalloc/process/run_costs.h"
#include "smalloc/sites/modules.h"

#include <stdlib.h>
#include <unistd.h>

namespace smalloc {
namespace {

struct Self {
  char build_id[130] = "";
  bool input_known = false;
  uint64_t input = 0;
  uint64_t pid = 0;
  std::atomic<bool> forked{false};
  MissCounter misses;
  RunCosts children_before; // of the earlier program in this process, before exec
} g_self;

/// True if at least half of the small objects' resident memory is on superpages.
bool small_heaps_are_on_superpages() {
  const LiveContents &live = g_live.contents();
  const KernelView view = ask_kernel(live.heaps, live.header.heap_count);
  uint64_t resident = 0, superpages = 0;
  for (uint32_t i = 0; view.known && i < live.header.heap_count; i++) {
    const auto start = live.heaps[i].start;
    if (start < g_runtime.region().slice_start(Slice::kSmallBase) ||
        start >= g_runtime.region().slice_end(Slice::kSmallSuper))
      continue;
    resident += view.heaps[i].resident_bytes;
    superpages += view.heaps[i].superpage_bytes;
  }
  return superpages >= kSuperpageBytes && superpages * 2 >= resident;
}

/// True if the settings allow the pages. Tested again at the end of the run: the administrator may
/// have switched them off meanwhile.
bool pages_possible(const Options &o, bool medium) {
  if (o.heap == HeapStrategy::kOff || o.pages == PageBacking::kBase)
    return false;
  if (o.pages == PageBacking::kHugetlb || o.pages == PageBacking::kGigantic)
    return true;
  const PageSettings settings = read_page_settings(kLinux, o.sysfs);
  if (medium)
    return settings.medium.advised;
  return o.pages == PageBacking::kThp && settings.gives_superpages(o.force);
}

bool medium_were_refused(const Counters &c) {
  return c.directed_mthp_got.get() < c.directed_mthp.get();
}

bool superpages_were_refused(const Counters &c) {
  uint64_t refusals = c.fallbacks.get();
  for (const Counter &failure : c.collapse_failures)
    refusals += failure.get();
  for (const Counter &why : c.not_on[static_cast<unsigned>(PageKind::kSuperpage)])
    refusals += why.get();
  return refusals != 0 || !g_runtime.running();
}

} // namespace

/// Collects the run's identity and starts the agent. Runs under options_lock_, perhaps before
/// libsmalloc's constructor: system calls only.
void Runtime::start_agent() {
  KeepErrno keep;
  began_ns_ = wall_clock_ns();
  g_self.pid = static_cast<uint64_t>(getpid());
  executable_build_id(g_self.build_id, sizeof g_self.build_id);
  if (*options_.input) {
    g_self.input = fnv1a(options_.input, strlen(options_.input) + 1);
    g_self.input_known = true;
  } else {
    g_self.input_known = command_line_signature(g_self.input);
  }
  if (options_.validate || g_directives.any())
    g_self.children_before = costs_of(RUSAGE_CHILDREN);
  // The run's cost in page walks and first touches is the measure of the prediction. This is the
  // first thread, so its counter also counts threads that it starts.
  if ((options_.validate_given ? options_.validate : g_directives.any()) && *g_self.build_id) {
    g_self.misses.start();
    first_touch_cost_.enable_samples();
  }
  if (!g_directives.any())
    return;
  Agent::Config config;
  config.os = &kLinux;
  config.sysfs = options_.sysfs;
  Budget::Config limits;
  limits.bytes = options_.budget_bytes;
  limits.percent = options_.budget_percent;
  limits.sysfs = options_.sysfs;
  if (options_.pages == PageBacking::kHugetlb || options_.pages == PageBacking::kGigantic) {
    config.pool_page_bytes = page_bytes(
        options_.pages == PageBacking::kGigantic ? PageKind::kGigantic : PageKind::kHugetlb);
    limits.pool_units = Budget::pool_share(
        kLinux, options_.sysfs, options_.pages == PageBacking::kGigantic, options_.budget_percent);
  }
  Budget budget;
  budget.init(kLinux, limits);
  config.most_superpages = budget.most_superpages();
  config.possible = pages_possible(options_, false);
  config.build_id = g_self.build_id;
  config.input_known = g_self.input_known;
  config.input = g_self.input;
  config.self = {g_self.pid, start_ticks(g_self.pid), 0};
  config.alive = is_alive;
  g_agent.start(g_directives, config);
}

RunCosts Runtime::run_costs() const {
  return costs_of(RUSAGE_SELF) + (costs_of(RUSAGE_CHILDREN) - g_self.children_before);
}

/// Children may execute sites that the parent has not shown.
void Runtime::agent_has_forked() { g_self.forked.store(true, std::memory_order_relaxed); }

uint64_t Runtime::elapsed_ns() const { return wall_clock_ns() - began_ns_; }

void Runtime::show_agent() {
  if (!g_agent.active())
    return;
  smalloc_live_header &h = g_live.contents().header;
  h.policy = static_cast<uint32_t>(g_agent.policy());
  h.bar_thousandths = static_cast<uint32_t>(g_agent.bar());
  h.agent_phases = static_cast<uint32_t>(g_agent.phases());
  h.agent_supply = g_agent.supply().free;
  h.agent_claimed = g_agent.claimed_by_others();
  h.agent_used = g_agent.superpages_taken();
}

/// Fills in the report on this run: what it is, what it has cost, and which superpages it has got.
/// `path` and `host` are the caller's memory, to which the report refers.
void Runtime::describe_run(const char *path, const char *host, RunReport &report) const {
  report.build_id = g_self.build_id;
  report.path = path;
  report.host = host;
  report.machine = running() ? machine_name_ : "";
  report.pid = g_self.pid;
  report.started_ns = began_ns_;
  report.ended_ns = wall_clock_ns();
  report.input_known = g_self.input_known;
  report.input = g_self.input;
  const RunCosts costs = run_costs();
  report.user_us = costs.user_us;
  report.system_us = costs.system_us;
  report.peak_bytes = costs.peak_bytes;
  report.minor_faults = costs.minor_faults;
  report.major_faults = costs.major_faults;
  report.misses_known = g_self.misses.read(report.tlb_misses);
  report.superpages_touched = touched_units();
  report.touch_us = touched_ns() / 1000;
  const Counters &c = g_live.counters();
  report.policy = g_agent.policy();
  report.bar_thousandths = g_agent.bar();
  report.superpages_supply = g_agent.supply().free;
  report.superpages_peak = c.superpages_peak.get();
  report.superpages_at_first_touch = c.superpages_at_first_touch.get();
  report.medium_got = c.directed_mthp_got.get();
  report.promotions = c.promotions.get();
  report.migrations = c.freezes.get();
  report.live_bytes_peak =
      c.big_bytes_peak.get() + c.small_bytes_peak.get() + c.class_bytes_peak.get();
}

/// Adds to the report's line how each directive has done. Leaves out a site that was not seen,
/// unless that means failure.
void Runtime::report_directives(RunLine &line) {
  const Counters &c = counters();
  const bool small_on_superpages = running() && g_agent.active() && small_heaps_are_on_superpages();
  g_accounts.read_cells();
  for (size_t i = 0; g_agent.active() && i < g_directives.count(); i++) {
    const Directives::Entry &entry = g_directives.entries()[i];
    const SiteAccounts::Footprint f = g_accounts.footprint(&entry);
    // The profile's own input reaches every site of the profile, so a site that was not seen has
    // failed. Exceptions: no table space was left to observe it, or children that do not report may
    // have executed it.
    const bool forked = g_self.forked.load(std::memory_order_relaxed);
    if (!f.seen && (entry.decision != DirectiveOutcome::kTaken ||
                    g_agent.policy() != Policy::kSameInput || g_accounts.all_taken() || forked))
      continue;
    SiteOutcome outcome;
    outcome.decision = entry.decision;
    outcome.predicted = entry.superpages;
    outcome.superpages_peak = f.superpages_peak;
    outcome.live_bytes_peak = f.live_bytes_peak;
    outcome.small_objects = f.small_seen;
    outcome.heap_on_superpages = small_on_superpages;
    outcome.page_shift = entry.page_shift;
    outcome.others_had_it = forked;
    outcome.possible = running() && pages_possible(options_, entry.page_shift == kMediumShift);
    const bool short_of =
        entry.page_shift == kMediumShift ? medium_were_refused(c) : superpages_were_refused(c);
    line.directive(entry, outcome, judge(outcome, g_agent.policy(), short_of));
  }
}

void Runtime::agent_end() {
  const Options &o = options();
  if (!g_agent.active() && !o.validate)
    return;
  KeepErrno keep;
  // A forked child: its parent reports the run.
  if (static_cast<uint64_t>(getpid()) != g_self.pid)
    return;
  g_agent.end();
  const bool wanted = o.validate_given ? o.validate : g_agent.active();
  if (!wanted || !*g_self.build_id || !modules_seen())
    return;

  RunReport report;
  char path[512] = "", host[256] = "";
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  path[length > 0 ? length : 0] = 0;
  gethostname(host, sizeof host - 1);
  describe_run(path, host, report);

  constexpr size_t kLineBytes = size_t{128} << 10;
  ScratchPages scratch(kLineBytes);
  if (!scratch.data())
    return;
  RunLine line(static_cast<char *>(scratch.data()), kLineBytes);
  line.begin(report);
  report_directives(line);
  line.end();
  const char *why =
      append_run(getenv("XDG_STATE_HOME"), getenv("HOME"), g_self.build_id, line.text());
  if (why && o.validate_given) {
    TextBuffer<256> text;
    text.put("validate: the history gets no report on this run: ").put(why);
    warn(text.text());
  }
}

} // namespace smalloc
