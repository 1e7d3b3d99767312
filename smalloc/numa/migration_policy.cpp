// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// migration_policy.cpp merges the plans of all units (migration_units.cpp), sorts them by benefit
// and admits what balance, memory and the rate limit allow. Expected benefits are scaled by what
// earlier moves have brought (migration_trials.cpp).
#include "smalloc/numa/migration_policy.h"

#include <algorithm>

namespace smalloc::numa {

PolicyOptions PolicyOptions::paper() {
  PolicyOptions o;
  o.keep256 = 0;
  o.least_samples = 1;
  o.benefit_test = false;
  o.imbalance_limit = 0;
  o.interleave_above = 0;
  return o;
}

const char *action_name(Action action) {
  switch (action) {
  case Action::kMovePage:
    return "page";
  case Action::kMoveUnit:
    return "superpage";
  case Action::kSplit:
    return "split";
  case Action::kInterleave:
    return "interleave";
  case Action::kCollapse:
    return "collapse";
  }
  return "?";
}

MigrationPolicy::MigrationPolicy(const Topology &topology, const PolicyOptions &options)
    : topology_(topology), options_(options) {
  for (unsigned i = 0; i < topology_.nodes; i++) {
    free_bytes_[i] = topology_.node[i].free_bytes;
    for (unsigned j = 0; j < topology_.nodes; j++)
      latency_[i][j] = topology_.latency(i, j);
  }
}

double MigrationPolicy::accesses(double counts) const {
  // Counts age by keep256: a steady stream of r samples an interval shows as r / (1 - keep), a
  // stream that has just begun as less. So a young stream counts for half.
  return counts * options_.sample_period * (256 - options_.keep256) / 256.0;
}

double MigrationPolicy::horizon() const {
  // Assumes that the program will run as long again as it has run so far. This estimate needs no
  // other knowledge.
  return std::min(options_.horizon_intervals, static_cast<double>(counters_.intervals));
}

double MigrationPolicy::benefit(double saved_ns, double cost_ns) const {
  if (!options_.benefit_test)
    return saved_ns;
  return saved_ns * horizon() * trust_ - cost_ns;
}

bool MigrationPolicy::admit(Move &move) {
  if (move.action == Action::kSplit || move.action == Action::kCollapse)
    return true;
  double load = load_of(move);
  if (move.action == Action::kInterleave) {
    for (unsigned n = 0; n < topology_.nodes; n++)
      if (topology_.has_memory(n) && (move.to == kNoNode || load_[n] < load_[move.to]))
        move.to = static_cast<uint8_t>(n);
    if (load_[move.to] + load >= load_[move.from]) {
      counters_.mixed_left++;
      return false; // earlier entries have balanced the nodes
    }
  }
  uint64_t bytes = move.pages() * kBasePageBytes;
  if (free_bytes_[move.to] < bytes + options_.reserve_bytes) {
    counters_.target_full++;
    return false;
  }
  double after = load_[move.to] + load;
  if (options_.imbalance_limit > 0 && after > options_.imbalance_limit * fair_load() &&
      after > load_[move.from]) {
    counters_.unbalanced++;
    return false;
  }
  free_bytes_[move.to] -= bytes;
  load_[move.to] = after;
  load_[move.from] -= load;
  return true;
}

size_t MigrationPolicy::plan(Unit *const *units, size_t count, Move *out, size_t capacity) {
  counters_.intervals++;
  sum_loads(units, count);
  evaluate_trials();
  size_t n = 0;
  for (size_t u = 0; u < count; u++) {
    Unit &unit = *units[u];
    if (unit.touched)
      n += unit.granularity == Granularity::kSuperpage ? plan_superpage(unit, out + n, capacity - n)
                                                       : plan_pages(unit, out + n, capacity - n);
    if (unit.granularity == Granularity::kPages)
      n += plan_collapse(unit, out + n, capacity - n);
  }
  // Freezes thaw here: after the plan has read them, before this interval's moves set new ones.
  for (size_t u = 0; u < count; u++)
    if (units[u]->touched)
      for (PageCounts &page : units[u]->page)
        page.thaw();
  // The most beneficial first; a split directly before the moves that need it.
  std::sort(out, out + n, [](const Move &a, const Move &b) {
    if (a.priority != b.priority)
      return a.priority > b.priority;
    if (a.unit != b.unit)
      return a.unit->address < b.unit->address;
    if ((a.action == Action::kSplit) != (b.action == Action::kSplit))
      return a.action == Action::kSplit;
    return a.page < b.page;
  });
  size_t kept = 0;
  for (size_t i = 0; i < n; i++)
    if (admit(out[i]))
      out[kept++] = out[i];
  // A split none of whose moves was admitted would only cost, so drop it.
  size_t final = 0;
  for (size_t i = 0; i < kept; i++) {
    if (out[i].action == Action::kSplit && (i + 1 == kept || out[i + 1].unit != out[i].unit))
      continue;
    out[final++] = out[i];
  }
  return final;
}

void MigrationPolicy::carried_out(const Move &move, bool done) {
  Unit &unit = *move.unit;
  unit.quiet = Unit::kMovedNow;
  if (move.action == Action::kSplit || move.action == Action::kCollapse) {
    bool split = move.action == Action::kSplit;
    if (done) {
      unit.granularity = split ? Granularity::kPages : Granularity::kSuperpage;
      unit.was_superpage = split;
      (split ? counters_.splits : counters_.collapses)++;
    }
    return;
  }
  bool page = move.action == Action::kMovePage;
  for (unsigned p = page ? move.page : 0; p < (page ? move.page + 1u : kPagesPerUnit); p++) {
    if (done)
      unit.page[p].set_home(move.to);
    unit.page[p].freeze(options_.freeze_intervals);
  }
  if (!done)
    return;
  if (page)
    counters_.moved_pages++;
  else
    counters_.moved_units++;
  if (move.action == Action::kInterleave)
    counters_.interleaved++; // a move for balance: it promised no saving for its own accesses
  else if (carried_++ % trial_stride_ == 0 && trial_count_ < kTrials)
    remember(move);
}

void MigrationPolicy::next_interval(Unit *const *units, size_t count) {
  for (size_t u = 0; u < count; u++) {
    Unit &unit = *units[u];
    unit.quiet =
        unit.quiet == Unit::kMovedNow ? 0 : static_cast<uint8_t>(std::min(unit.quiet + 1, 254));
    if (!unit.touched)
      continue;
    bool any = false;
    for (PageCounts &page : unit.page) {
      page.age(options_.keep256);
      any |= page.total() || page.frozen();
    }
    unit.touched = any;
  }
}

} // namespace smalloc::numa
