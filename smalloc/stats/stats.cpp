// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// stats.cpp prints the table of stats:exit and smalloc_stats_print(): libsmalloc's counters, the
// kernel's view of each heap, the busiest sites. It allocates nothing.
#include "smalloc/stats/stats.h"
#include "smalloc/agent/agent.h"
#include "smalloc/agent/run_report.h"
#include "smalloc/core/runtime.h"
#include "smalloc/pages/kernel_view.h"
#include "smalloc/small/node_heaps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The C++ library's function, if the program has one.
extern "C" __attribute__((weak)) char *__cxa_demangle(const char *, char *, size_t *, int *);

namespace smalloc {
namespace {

constexpr unsigned kBusiest = 8; ///< sites in the table; JSON has all

constexpr uint64_t kUnitsPerGigantic = 512;
/// Time of a superpage's first touch if none was measured: a fifth of that of base pages.
constexpr uint64_t kUsualTouchUs = 120;
using Table = TextBuffer<6144>;
Table &row(Table &t, const char *name) { return t.put("smalloc: ").put(name).put(":").column(42); }

uint64_t footprint_bytes() {
  return g_small.ready() ? g_small.main_pages().live_bytes() + g_small.class_pages().live_bytes() +
                               g_node_heaps.pages().live_bytes()
                         : 0;
}

/// Returns the present superpages, without those that a fork has broken.
uint64_t superpages_now() {
  const Counters &c = g_runtime.counters();
  const uint64_t counted = c.superpages_now.get();
  return counted - min_of(c.superpages_broken.get(), counted);
}

uint64_t percent(uint64_t part, uint64_t whole) { return whole ? part * 100 / whole : 0; }

/// Stores the live bytes of small objects, and how many were ever allocated. Objects of the bitmap
/// heap are not counted one by one.
void small_statistics(uint64_t &live, uint64_t &objects) {
  uint64_t spans, in_spans;
  g_small.statistics(live, objects);
  g_bitmap_heap.statistics(spans, in_spans);
  live -= min_of(live, spans - in_spans);
}

void heap_rows(Table &t) {
  Counters &c = g_runtime.counters();
  uint64_t small_live, small_objects, spans, in_spans;
  small_statistics(small_live, small_objects);
  row(t, "small objects").number(small_objects).put(" allocated, ").bytes(small_live);
  t.put(" live in pages of ").bytes(footprint_bytes());
  t.put(", at most ")
      .bytes(c.small_bytes_peak.get() + c.class_bytes_peak.get() + c.node_bytes_peak.get())
      .put_char('\n');
  g_bitmap_heap.statistics(spans, in_spans);
  if (spans) {
    row(t, "  of varying sizes").bytes(in_spans).put(" live in spans of ").bytes(spans);
    t.put_char('\n');
  }
  const uint64_t idle =
      c.small_idle_bytes.get() + c.class_idle_bytes.get() + c.node_idle_bytes.get();
  if (const uint64_t backed = footprint_bytes() + idle) {
    row(t, "  fragmentation").number(100 - min_of<uint64_t>(percent(small_live, backed), 100));
    t.put(" % of the ")
        .bytes(backed)
        .put(" that back small objects hold no live object, ")
        .bytes(idle);
    t.put(" of them idle pages of superpages\n");
    row(t, "  small objects packed").number(g_small.packed_objects()).put_char('\n');
  }
  row(t, "big objects").number(c.big_objects.get()).put(" allocated, ");
  t.number(c.big_objects_now.get()).put(" live, ").bytes(c.big_bytes_now.get());
  t.put(", peak ").bytes(c.big_bytes_peak.get()).put_char('\n');
  row(t, "superpages").number(superpages_now()).put(" now, peak ");
  t.number(c.superpages_peak.get());
  if (const uint64_t broken = c.superpages_broken.get(), mended = c.superpages_mended.get();
      broken + mended)
    t.put(", ").number(broken).put(" broken by a fork, ").number(mended).put(" made again");
  t.put_char('\n');

  const LiveContents &live = g_live.contents();
  KernelView view = ask_kernel(live.heaps, live.header.heap_count);
  if (!view.known)
    return;
  row(t, "superpages, says the kernel").bytes(view.total.superpage_bytes).put(" of ");
  t.bytes(view.total.resident_bytes).put(" resident\n");
  for (uint32_t i = 0; i < live.header.heap_count; i++) {
    const KernelView::Heap &h = view.heaps[i];
    if (h.resident_bytes == 0)
      continue;
    row(t, "  coverage").number(percent(h.superpage_bytes, h.resident_bytes)).put(" % of ");
    t.bytes(h.resident_bytes).put(": ").put(g_live.string(live.heaps[i].name)).put_char('\n');
  }
  row(t, "mappings").number(view.mappings_of_heaps).put(" of libsmalloc, ");
  t.number(view.mappings_all).put(" in the process\n");
}

const char *const kReasons[kWhyNots] = {
    "no libhugetlbfs", "no such size", "switched off", "pool empty", "limit",
    "refused",         "no memory",    "budget",       "mappings",   "expensive now"};

/// Prints the pages that big objects got at first touch, and why not larger ones.
void print_page_fallback(Table &t, const Counters &c) {
  static const char *const kKinds[] = {"1g", "hugetlb", "thp", "mthp", "base"};
  row(t, "big objects at first touch on");
  for (unsigned kind = 0; kind < kPageKinds; kind++)
    t.put(kind ? ", " : "").put(kKinds[kind]).put(" ").number(c.requests_on[kind].get());
  t.put_char('\n');
  for (unsigned kind = 0; kind < kPageKinds; kind++) {
    bool any = false;
    for (unsigned why = 0; why < kWhyNots; why++) {
      uint64_t times = c.not_on[kind][why].get();
      if (times == 0)
        continue;
      if (!any)
        row(t, "not on").put(kKinds[kind]).put(": ");
      t.put(any ? ", " : "").put(kReasons[why]).put(" ").number(times);
      any = true;
    }
    if (any)
      t.put_char('\n');
  }
  const auto directed = [&](const char *pages, const Counter &asked, const Counter &got) {
    if (asked.get())
      row(t, "directives for pages of")
          .put(pages)
          .put(": ")
          .number(got.get())
          .put(" of ")
          .number(asked.get())
          .put(" big objects have some\n");
  };
  directed("1 GiB", c.directed_1g, c.directed_1g_got);
  directed("64 KiB", c.directed_mthp, c.directed_mthp_got);
  row(t, "hugetlb");
  t.number(c.pool_units[static_cast<unsigned>(PageKind::kHugetlb)].get()).put(" units of 2 MiB, ");
  t.number(c.pool_units[static_cast<unsigned>(PageKind::kGigantic)].get() / kUnitsPerGigantic);
  t.put(" of 1 GiB in use\n");
}

/// Prints the superpages of the program's image and stack, even before the heaps start.
void program_row(Table &t) {
  const Counters &c = g_runtime.counters();
  if (!c.static_superpages.get() && !c.text_superpages.get() && !c.stack_superpages.get())
    return;
  row(t, "the program itself").number(c.static_superpages.get());
  t.put(" superpages of static data, ").number(c.text_superpages.get());
  t.put(" of text, ").number(c.stack_superpages.get()).put(" advised for the stack\n");
}

void work_rows(Table &t) {
  Counters &c = g_runtime.counters();
  row(t, "superpages at first touch").number(c.superpages_at_first_touch.get());
  t.put(", first-touch faults saved ");
  t.number(c.superpages_at_first_touch.get() * (kPagesPerUnit - 1)).put_char('\n');
  row(t, "promotions").number(c.promotions.get()).put(" in ");
  t.number(c.collapse_ns.get() / 1000000).put(" ms, too sparse ");
  t.number(c.units_too_sparse.get()).put(", failed: EINVAL ");
  t.number(c.collapse_failures[kCollapseInvalid].get()).put(", EAGAIN ");
  t.number(c.collapse_failures[kCollapseAgain].get()).put(", ENOMEM ");
  t.number(c.collapse_failures[kCollapseNoMemory].get()).put(", other ");
  t.number(c.collapse_failures[kCollapseOther].get()).put_char('\n');
  row(t, "demotions").number(c.demotions.get()).put_char('\n');
  row(t, "class heap").put(g_small.class_frozen() ? "frozen, superpages " : "open, superpages ");
  t.number(c.class_units_collapsed.get()).put(", migrations ").number(c.freezes.get());
  t.put(" in ").number(c.migration_ns.get() / 1000000).put(" ms\n");
  row(t, "2 MiB units reused, no faults").number(c.units_reused.get()).put_char('\n');
  row(t, "base pages released").number(c.pages_released.get()).put_char('\n');
  row(t, "reallocs that moved pages").number(c.moves.get()).put_char('\n');
  print_page_fallback(t, c);
  if (c.mapped_superpages_promoted.get()) {
    row(t, "promoted in mapped memory").number(c.mapped_superpages_promoted.get());
    t.put(" superpages of memory that the program maps itself\n");
  }
  if (c.malloc_superpages.get()) {
    row(t, "malloc's heap").number(c.malloc_superpages.get());
    t.put(" superpages filled, at most ").number(c.malloc_superpages_peak.get());
    t.put(" at a time\n");
  }
  row(t, "fallbacks to malloc").number(c.fallbacks.get()).put_char('\n');
}

/// Prints the summary. The time is that of first touches only, since page walks are not counted
/// here.
void summary_row(Table &t) {
  const Counters &c = g_runtime.counters();
  const uint64_t units = c.superpages_at_first_touch.get() + c.malloc_superpages.get(),
                 touched = g_runtime.touched_units();
  const uint64_t took_us = touched ? g_runtime.touched_ns() / touched / 1000 : kUsualTouchUs;
  const uint64_t base_us = FirstTouchCost::kUsualBaseNs / 1000;
  const uint64_t saved_ms = base_us > took_us ? units * (base_us - took_us) / 1000 : 0;
  row(t, "this run");
  t.bytes((c.superpages_peak.get() + c.malloc_superpages_peak.get()) * kSuperpageBytes);
  t.put(" on superpages, ");
  t.number(units * (kPagesPerUnit - 1)).put(" page faults and about ");
  t.number(saved_ms / 1000).put_char('.').number(saved_ms / 100 % 10).number(saved_ms / 10 % 10);
  t.put(" s of first touches saved\n");
}

/// Prints the coverage at the peak: at the end most programs have freed everything.
void peak_row(Table &t) {
  const Counters &c = g_runtime.counters();
  const uint64_t bytes = c.big_bytes_peak.get() + c.small_bytes_peak.get() +
                         c.class_bytes_peak.get() + c.node_bytes_peak.get();
  if (bytes == 0)
    return;
  row(t, "coverage at the peak");
  t.number(min_of<uint64_t>(percent(c.superpages_peak.get() * kSuperpageBytes, bytes), 100));
  t.put(" % of ").bytes(bytes).put_char('\n');
}

/// Prints how often superpages were withheld because their first touch had become too expensive.
void guard_row(Table &t) {
  const Counters &c = g_runtime.counters();
  const uint64_t times = c.not_on[static_cast<unsigned>(PageKind::kSuperpage)]
                                 [static_cast<unsigned>(WhyNot::kExpensive)]
                                     .get();
  row(t, "first-touch guard");
  if (times == 0) {
    t.put("withheld nothing\n");
    return;
  }
  t.put("withheld superpages ").number(times).put(" times: ");
  if (const uint64_t touched = g_runtime.touched_units())
    t.put("one takes ").number(g_runtime.touched_ns() / touched / 1000).put(" us to touch here, ");
  t.put("512 base pages take about ").number(FirstTouchCost::kUsualBaseNs / 1000);
  t.put(" us; populate:always switches the guard off\n");
}

/// Prints the measured cost of superpages that were touched in advance (first_touch_cost.h).
void touch_row(Table &t) {
  const uint64_t touched = g_runtime.touched_units();
  if (touched == 0)
    return;
  row(t, "first touch of a superpage").number(g_runtime.touched_ns() / touched / 1000);
  t.put(" us, mean of ").number(touched).put(" touched in advance\n");
}

/// Prints the agent's decisions, and the prediction in the directives' first line beside the
/// result.
void agent_rows(Table &t) {
  if (!g_agent.active())
    return;
  const DirectivesHeader &h = g_directives.header();
  row(t, "agent").put(policy_name(g_agent.policy())).put(", superpages: ");
  t.number(g_agent.supply().free).put(" expected, ").number(g_agent.claimed_by_others());
  t.put(" claimed by other processes (least PMB: ").number(g_agent.bar() / 1000).put(" %)\n");
  row(t, "directives").number(g_agent.count(DirectiveOutcome::kTaken)).put(" taken, ");
  t.number(g_agent.count(DirectiveOutcome::kDeferred)).put(" deferred, ");
  t.number(g_agent.count(DirectiveOutcome::kBase)).put(" for base pages; changed while running: ");
  t.number(g_agent.phases()).put_char('\n');
  const bool compares = h.base_runs != 0;
  const RunCosts costs = compares ? g_runtime.run_costs() : RunCosts{};
  if (h.faults_saved) {
    const Counters &c = g_runtime.counters();
    row(t, "first-touch faults saved").number(h.faults_saved).put(" predicted, ");
    if (compares && h.base_faults) {
      t.number(h.base_faults > costs.minor_faults ? h.base_faults - costs.minor_faults : 0);
      t.put(" measured\n");
    } else {
      // An estimate: malloc might have touched pages twice or reused them, as libsmalloc's heaps
      // do.
      t.put("about ")
          .number(c.superpages_at_first_touch.get() * (kPagesPerUnit - 1))
          .put_char('\n');
    }
  }
  if (compares) {
    row(t, "user and system time").number((costs.user_us + costs.system_us) / 1000);
    t.put(" ms; on base pages ").number(h.base_ms).put(" ms, at most ").number(h.base_most_ms);
    t.put(" in ").number(h.base_runs).put(" runs\n");
  }
}

/// Prints how much of a site's big objects had superpages, and why not more.
void share(Table &t, const smalloc_live_site &s) {
  const uint64_t got = s.superpages_peak * kSuperpageBytes;
  t.bytes(got).put(" of ").bytes(max_of<uint64_t>(s.peak_bytes, got)).put(" got superpages");
  if (got + kSuperpageBytes > s.peak_bytes || s.small_seen)
    t.put(", ");
  else if (s.why_less && s.why_less <= kWhyNots)
    t.put(" (not more: ").put(kReasons[s.why_less - 1]).put("), ");
  else
    t.put(" (not more: none at first touch, and never filled enough for promotion), ");
}

/// Appends the demangled name if the program has a demangler; frees what that allocates.
Table &put_function(Table &t, const char *name) {
  char *readable = nullptr;
  int status = 0;
  if (name[0] == '_' && name[1] == 'Z' && __cxa_demangle)
    readable = __cxa_demangle(name, nullptr, nullptr, &status);
  t.put(readable && status == 0 ? readable : name);
  free(readable);
  return t;
}

void site_row(Table &t, const smalloc_live_site &s, uint32_t tracking) {
  row(t, "site").hex(s.id).put(" ").bytes(s.requested_bytes).put(" requested, ");
  if (!is_counted(s)) {
    t.put("live not counted, ");
  } else if (s.small_seen || tracking != SMALLOC_LIVE_BIG || s.peak_bytes) {
    t.put(s.small_seen && tracking == SMALLOC_LIVE_SAMPLED ? "about " : "");
    t.bytes(s.live_bytes).put(" live, peak ").bytes(s.peak_bytes).put(", ");
  }
  if (s.superpages)
    t.number(s.superpages).put(" superpages, ");
  if (s.superpages_peak || s.why_less)
    share(t, s);
  if (const char *decision = site_decision_name(s.agent))
    t.put("directive ")
        .put(decision)
        .put(", pages of ")
        .bytes(uint64_t{1} << s.page_shift)
        .put(" (")
        .number(s.superpages_predicted)
        .put(" predicted, peak ")
        .number(s.superpages_peak)
        .put("), ");
  const char *function = g_live.string(s.function), *file = g_live.string(s.file);
  if (s.id == 0 && !*function)
    t.put("of no site\n");
  else
    put_function(t.put("in "), *function ? function : "?")
        .put(" ")
        .put(*file ? file : "?")
        .put(":")
        .number(s.line);
  if (t.size() && t.data()[t.size() - 1] != '\n')
    t.put_char('\n');
}

} // namespace

const char *strategy_name(uint32_t strategy) {
  static const char *const kNames[] = {"auto", "off", "superpage", "migrate", "guest"};
  return strategy < 5 ? kNames[strategy] : "?";
}
const char *site_decision_name(uint32_t agent) {
  static const char *const kNames[] = {nullptr, "base", "taken", "deferred"};
  return agent < 4 ? kNames[agent] : nullptr;
}
bool is_counted(const smalloc_live_site &site) {
  return site.peak_bytes != 0 || site.requested_bytes == 0;
}
const char *heap_state_name() {
  if (g_runtime.running())
    return "running";
  return g_runtime.is_off() || g_runtime.strategy() == HeapStrategy::kOff ? "off" : "never needed";
}

unsigned rank_accounts(SiteAccounts::Account *order, unsigned capacity) {
  g_accounts.read_cells();
  unsigned count = 0;
  auto before = [](const smalloc_live_site &a, const smalloc_live_site &b) {
    return a.peak_bytes != b.peak_bytes ? a.peak_bytes > b.peak_bytes
                                        : a.requested_bytes > b.requested_bytes;
  };
  for (SiteAccounts::Account a = 0; a < g_accounts.count(); a++) {
    const smalloc_live_site &s = g_accounts.site(a);
    if (s.requested_bytes == 0 && s.peak_bytes == 0)
      continue;
    unsigned at = count < capacity ? count++ : capacity;
    for (; at > 0 && before(s, g_accounts.site(order[at - 1])); at--)
      if (at < capacity)
        order[at] = order[at - 1];
    if (at < capacity)
      order[at] = a;
  }
  return count;
}

void fill_statistics(smalloc_statistics &out) {
  smalloc_statistics s = {};
  Counters &c = g_runtime.counters();
  uint64_t objects;
  small_statistics(s.small_live_bytes, objects);
  s.small_footprint_bytes = footprint_bytes();
  s.big_objects = c.big_objects.get();
  s.big_objects_now = c.big_objects_now.get();
  s.big_bytes_now = c.big_bytes_now.get();
  s.big_bytes_peak = c.big_bytes_peak.get();
  g_runtime.broken().count();
  s.superpages_now = superpages_now();
  s.superpages_peak = c.superpages_peak.get();
  s.superpages_at_first_touch = c.superpages_at_first_touch.get();
  s.promotions = c.promotions.get();
  for (const Counter &failure : c.collapse_failures)
    s.promotions_failed += failure.get();
  s.promotion_ns = c.collapse_ns.get();
  s.pages_released = c.pages_released.get();
  s.fallbacks = c.fallbacks.get();
  s.mappings = c.mappings.get();
  s.pending = __atomic_load_n(&__smalloc_v1_pending, __ATOMIC_RELAXED);
  s.migrations = c.freezes.get();
  s.migration_ns = c.migration_ns.get();
  s.bytes = out.bytes;
  memcpy(&out, &s, min_of<size_t>(out.bytes, sizeof s));
}

void print_statistics(const StatisticsSink &sink) {
  Table t;
  bool running = g_runtime.running();
  row(t, "process").number(static_cast<uint64_t>(getpid())).put(" (");
  t.put(program_invocation_short_name).put("), started by ");
  t.number(static_cast<uint64_t>(getppid())).put_char('\n');
  row(t, "heaps").put(heap_state_name());
  t.put(", strategy ").put(strategy_name(static_cast<uint32_t>(g_runtime.strategy())));
  if (running)
    t.put(", THP ").put(thp_name(g_runtime.thp())).put(", machine ").put(g_runtime.machine_name());
  t.put_char('\n');
  if (running) {
    g_runtime.broken().count();
    summary_row(t);
    peak_row(t);
    guard_row(t);
    heap_rows(t);
    work_rows(t);
  }
  program_row(t);
  touch_row(t);
  agent_rows(t);
  sink.write(t.data(), t.size(), sink.data);
  SiteAccounts::Account order[kBusiest];
  unsigned count = rank_accounts(order, kBusiest);
  for (unsigned i = 0; i < count; i++) {
    t.clear();
    site_row(t, g_accounts.site(order[i]), g_live.contents().header.tracking);
    sink.write(t.data(), t.size(), sink.data);
  }
}

void print_jemalloc_statistics(const StatisticsSink &sink, const char *options) {
  if (!g_small.ready())
    return;
  jepriv_malloc_stats_print(
      [](void *data, const char *text) {
        auto &s = *static_cast<const StatisticsSink *>(data);
        s.write(text, strlen(text), s.data);
      },
      const_cast<StatisticsSink *>(&sink), options);
}

} // namespace smalloc
