// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// stats.cpp decides the table of stats:exit: counters of ours, what the kernel says about our range
// (smaps, read in pieces through a fixed buffer), and the busiest sites. No allocation.
#include "smalloc/core/stats.h"
#include "smalloc/core/modules.h"
#include "smalloc/core/runtime.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

namespace smalloc {
namespace {

/// What /proc/self/smaps says about our range, and how many mappings the process has.
struct KernelView {
  uint64_t resident_bytes = 0, superpage_bytes = 0, hugetlb_bytes = 0, mappings_ours = 0,
           mappings_all = 0;
  bool known = false;
  bool inside = false; ///< while reading: the current mapping is ours
};

uint64_t parse(const char *c, unsigned base) {
  uint64_t value = 0;
  for (;; c++) {
    unsigned digit = *c >= '0' && *c <= '9'                 ? static_cast<unsigned>(*c - '0')
                     : base == 16 && *c >= 'a' && *c <= 'f' ? static_cast<unsigned>(*c - 'a' + 10)
                                                            : base;
    if (digit >= base)
      return value;
    value = value * base + digit;
  }
}

void take_line(KernelView &view, const char *line) {
  if ((*line >= '0' && *line <= '9') || (*line >= 'a' && *line <= 'f')) {
    view.mappings_all++;
    view.inside = g_range.contains(reinterpret_cast<void *>(parse(line, 16)));
    view.mappings_ours += view.inside;
    return;
  }
  if (!view.inside)
    return;
  const char *number = strchr(line, ':');
  if (!number)
    return;
  do
    number++;
  while (*number == ' ');
  uint64_t bytes = parse(number, 10) * 1024;
  if (strncmp(line, "Rss:", 4) == 0)
    view.resident_bytes += bytes;
  else if (strncmp(line, "AnonHugePages:", 14) == 0)
    view.superpage_bytes += bytes;
  else if (strncmp(line, "Private_Hugetlb:", 16) == 0)
    view.hugetlb_bytes += bytes;
}

KernelView ask_kernel() {
  KernelView view;
  int fd = open("/proc/self/smaps", O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return view;
  char buffer[4096];
  size_t held = 0;
  for (;;) {
    ssize_t n = read(fd, buffer + held, sizeof buffer - 1 - held);
    if (n <= 0)
      break;
    held += static_cast<size_t>(n);
    buffer[held] = 0;
    char *line = buffer;
    for (char *end; (end = static_cast<char *>(memchr(line, '\n', buffer + held - line)));) {
      *end = 0;
      take_line(view, line);
      line = end + 1;
    }
    held -= static_cast<size_t>(line - buffer);
    memmove(buffer, line, held);
    if (held == sizeof buffer - 1)
      held = 0; // a line longer than the buffer: a file name, not ours
  }
  close(fd);
  view.known = true;
  return view;
}

constexpr unsigned kBusiest = 8;
/// A site's line in the table, copied, since the image it is described in may be gone by then.
struct SiteLine {
  uint64_t bytes;
  TextBuffer<160> text;
};
struct Busiest {
  SiteLine lines[kBusiest];
  unsigned count;
};
Busiest g_gone; // of images that were unloaded
SpinLock g_gone_lock;

void insert(Busiest &b, const SiteLine &line) {
  unsigned at = b.count < kBusiest ? b.count++ : kBusiest;
  for (; at > 0 && b.lines[at - 1].bytes < line.bytes; at--)
    if (at < kBusiest)
      b.lines[at] = b.lines[at - 1];
  if (at < kBusiest)
    b.lines[at] = line;
}

void rank_site(const smalloc_site *site, smalloc_cell *cell, void *data) {
  auto &b = *static_cast<Busiest *>(data);
  SiteLine line = {};
  line.bytes = __atomic_load_n(&cell->requested_bytes, __ATOMIC_RELAXED);
  if (line.bytes == 0)
    return;
  const char *function = site_string(site, site->function);
  line.text.hex(site->id).put(" ").bytes(line.bytes).put(" in ").put(*function ? function : "?");
  line.text.put(" ").put(site_string(site, site->file)).put(":").number(site->line);
  insert(b, line);
}

const char *strategy_name(HeapStrategy s) {
  static const char *const kNames[] = {"split", "off", "superpage", "migrate"};
  return kNames[static_cast<unsigned>(s)];
}
const char *thp_name(ThpMode m) {
  static const char *const kNames[] = {"absent", "never", "madvise", "always"};
  return kNames[static_cast<unsigned>(m)];
}

using Table = TextBuffer<3072>;
Table &row(Table &t, const char *name) { return t.put("smalloc: ").put(name).put(":").column(42); }

} // namespace

void fill_statistics(smalloc_statistics &out) {
  smalloc_statistics s = {};
  Counters &c = g_runtime.counters();
  uint64_t objects;
  g_small.statistics(s.small_live_bytes, objects);
  if (g_small.ready())
    s.small_footprint_bytes =
        g_small.main_pages().live_bytes() + g_small.class_pages().live_bytes();
  s.big_objects = c.big_objects.get();
  s.big_objects_now = c.big_objects_now.get();
  s.big_bytes_now = c.big_bytes_now.get();
  s.big_bytes_peak = c.big_bytes_peak.get();
  s.superpages_now = c.superpages_now.get();
  s.superpages_peak = c.superpages_peak.get();
  s.superpages_at_birth = c.superpages_at_birth.get();
  s.promotions = c.promotions.get();
  for (const Counter &failure : c.collapse_failures)
    s.promotions_failed += failure.get();
  s.promotion_ns = c.collapse_ns.get();
  s.pages_released = c.pages_released.get();
  s.fallbacks = c.fallbacks.get();
  s.mappings = c.mappings.get();
  s.pending = __atomic_load_n(&__smalloc_v1_pending, __ATOMIC_RELAXED);
  s.bytes = out.bytes;
  memcpy(&out, &s, min_of<size_t>(out.bytes, sizeof s));
}

void print_statistics(void (*write)(const char *, size_t, void *), void *data) {
  Table t;
  Counters &c = g_runtime.counters();
  bool running = g_runtime.running();
  row(t, "heaps").put(running ? "running" : g_runtime.is_off() ? "off" : "never needed");
  t.put(", strategy ").put(strategy_name(g_runtime.strategy()));
  if (running)
    t.put(", THP ").put(thp_name(g_runtime.thp())).put(", machine ").put(g_runtime.machine_name());
  t.put_char('\n');
  if (running) {
    uint64_t small_live, small_objects;
    g_small.statistics(small_live, small_objects);
    row(t, "small objects").number(small_objects).put(" allocated, ").bytes(small_live);
    t.put(" live in ");
    t.bytes(g_small.ready() ? g_small.main_pages().live_bytes() + g_small.class_pages().live_bytes()
                            : 0);
    t.put_char('\n');
    row(t, "big objects").number(c.big_objects.get()).put(" allocated, ");
    t.number(c.big_objects_now.get()).put(" live, ").bytes(c.big_bytes_now.get());
    t.put(", peak ").bytes(c.big_bytes_peak.get()).put_char('\n');
    row(t, "superpages").number(c.superpages_now.get()).put(" now, peak ");
    t.number(c.superpages_peak.get()).put_char('\n');
    KernelView view = ask_kernel();
    if (view.known) {
      row(t, "superpages, says the kernel").bytes(view.superpage_bytes + view.hugetlb_bytes);
      t.put(" of ").bytes(view.resident_bytes + view.hugetlb_bytes).put(" resident\n");
      row(t, "mappings").number(view.mappings_ours).put(" ours of ");
      t.number(view.mappings_all).put(" in the process\n");
    }
    row(t, "superpages at birth")
        .number(c.superpages_at_birth.get())
        .put(", first-touch faults saved ");
    t.number(c.superpages_at_birth.get() * (kPagesPerUnit - 1)).put_char('\n');
    row(t, "promotions").number(c.promotions.get()).put(" in ");
    t.number(c.collapse_ns.get() / 1000000).put(" ms, too sparse ");
    t.number(c.units_too_sparse.get()).put(", failed: EINVAL ");
    t.number(c.collapse_failures[kCollapseInvalid].get()).put(", EAGAIN ");
    t.number(c.collapse_failures[kCollapseAgain].get()).put(", ENOMEM ");
    t.number(c.collapse_failures[kCollapseNoMemory].get()).put(", other ");
    t.number(c.collapse_failures[kCollapseOther].get()).put_char('\n');
    row(t, "class heap").put(g_small.class_frozen() ? "frozen, superpages " : "open, superpages ");
    t.number(c.class_units_collapsed.get()).put_char('\n');
    row(t, "units reused without a fault").number(c.units_reused.get()).put_char('\n');
    row(t, "base pages released").number(c.pages_released.get()).put_char('\n');
    row(t, "moved instead of copied").number(c.moves.get()).put_char('\n');
    row(t, "hugetlb").number(c.hugetlb_units.get()).put(" units, refused ");
    t.number(c.hugetlb_refused.get()).put_char('\n');
    row(t, "fallbacks to malloc").number(c.fallbacks.get()).put_char('\n');
  }
  write(t.data(), t.size(), data);

  Busiest busiest;
  {
    SpinGuard guard(g_gone_lock);
    busiest = g_gone;
  }
  modules_for_each_site(rank_site, &busiest);
  for (unsigned i = 0; i < busiest.count; i++) {
    t.clear();
    row(t, "site").put(busiest.lines[i].text.text()).put_char('\n');
    write(t.data(), t.size(), data);
  }
}

void statistics_keep_sites(const smalloc_module &module) {
  SpinGuard guard(g_gone_lock);
  for_each_site_of(module, rank_site, &g_gone);
}

} // namespace smalloc
