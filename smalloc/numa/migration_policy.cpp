// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// migration_policy.cpp decides the order of the tests: per unit what would be best for it alone, then
// over all units, best first, what balance, memory and the rate limit admit.
#include "smalloc/numa/migration_policy.h"
#include "smalloc/numa/neighbourhood.h"

#include <algorithm>
#include <optional>

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
  // Counts age by keep: a steady stream of r samples an interval shows as r / (1 - keep), a stream
  // that has just begun as less. So what is young is trusted half.
  return counts * options_.sample_period * (256 - options_.keep256) / 256.0;
}

double MigrationPolicy::horizon() const {
  // Nobody knows how long a program will run; that it will run as long again as it has is the
  // estimate that needs no other knowledge.
  return std::min(options_.horizon_intervals, static_cast<double>(counters_.intervals));
}

double MigrationPolicy::benefit(double saved_ns, double cost_ns) const {
  if (!options_.benefit_test)
    return saved_ns;
  return saved_ns * horizon() * trust_ - cost_ns;
}

MigrationPolicy::Best MigrationPolicy::best_home(const PageCounts &page) const {
  double by_node[kMaxNodes] = {};
  for (unsigned s = 0; s < PageCounts::kSlots; s++)
    if (page.slot_count(s) && page.slot_node(s) < topology_.nodes)
      by_node[page.slot_node(s)] += page.slot_count(s);
  return best_home(by_node, page.home());
}

MigrationPolicy::Best MigrationPolicy::best_home(const double *by_node, uint8_t home) const {
  const unsigned nodes = topology_.nodes;
  auto cost = [&](unsigned memory) {
    double sum = 0;
    for (unsigned n = 0; n < nodes; n++)
      sum += by_node[n] > 0 ? by_node[n] * latency(n, memory) : 0;
    return sum;
  };
  Best best = {home, 0};
  if (home >= nodes)
    return best;
  double at_home = cost(home);
  if (!options_.benefit_test) { // the published rule: whoever uses it most, the first of equals
    unsigned most = 0;
    for (unsigned n = 1; n < nodes; n++)
      if (by_node[n] > by_node[most])
        most = n;
    uint8_t target = topology_.nearest_memory(most);
    if (target != kNoNode && by_node[most] > by_node[home])
      best = {target, accesses(at_home - cost(target))};
    return best;
  }
  double least = at_home;
  for (unsigned n = 0; n < nodes; n++) {
    uint8_t target = by_node[n] > 0 ? topology_.nearest_memory(n) : kNoNode;
    if (target == kNoNode || target == home)
      continue;
    if (double c = cost(target); c < least) {
      least = c;
      best = {target, accesses(at_home - c)};
    }
  }
  return best;
}

/// Of a page that two nodes use alike, chance has one of them ahead at each interval: it would go to and fro for ever. Where
/// enough is known to tell, the saving must be twice what chance makes of it (counts spread by their square root).
bool MigrationPolicy::beyond_chance(const PageCounts &page, uint8_t to) const {
  if (!options_.benefit_test || page.total() < kTellingSamples)
    return true;
  double saved = 0, variance = 0;
  for (unsigned s = 0; s < PageCounts::kSlots; s++)
    if (const unsigned count = page.slot_count(s); count && page.slot_node(s) < topology_.nodes) {
      const double each = latency(page.slot_node(s), page.home()) - latency(page.slot_node(s), to);
      saved += count * each;
      variance += count * each * each;
    }
  return saved * saved > 4 * variance;
}

size_t MigrationPolicy::plan_pages(Unit &unit, Move *out, size_t capacity) {
  size_t n = 0;
  std::optional<Neighbourhood> neighbours;
  if (options_.neighbours)
    neighbours.emplace(unit.page, topology_.nodes, options_.whole_share);
  for (unsigned p = 0; p < kPagesPerUnit; p++) {
    const PageCounts &page = unit.page[p];
    const bool sampled = page.total() >= options_.least_samples;
    double share[kMaxNodes];
    if (page.home() == kNoNode || (!sampled && !(neighbours && neighbours->around(p, share))))
      continue;
    Best best = sampled ? best_home(page) : best_home(share, page.home());
    if (best.node == page.home())
      continue;
    if (page.frozen()) {
      counters_.frozen++;
      continue;
    }
    double gain = benefit(best.saved_ns, options_.move_page_ns);
    if (gain <= 0 || (sampled && !beyond_chance(page, best.node))) {
      counters_.not_worth++;
      continue;
    }
    if (n == capacity) {
      counters_.plan_full++;
      break;
    }
    out[n++] = {&unit,
                static_cast<uint16_t>(p),
                page.home(),
                best.node,
                Action::kMovePage,
                static_cast<float>(gain),
                static_cast<float>(best.saved_ns),
                static_cast<float>(gain)};
  }
  return n;
}

size_t MigrationPolicy::plan_superpage(Unit &unit, Move *out, size_t capacity) {
  double by_node[kMaxNodes];
  const double total = sum_of(unit.page, kPagesPerUnit, by_node);
  uint8_t home = unit.page[0].home();
  if (home == kNoNode || total < options_.least_samples)
    return 0; // cold: leave
  if (unit.page[0].frozen()) {
    counters_.frozen++;
    return 0;
  }
  if (capacity == 0) {
    counters_.plan_full++;
    return 0;
  }
  auto whole = [&](Action action, uint8_t to, double saved, double gain) {
    out[0] = {&unit,
              0,
              home,
              to,
              action,
              static_cast<float>(gain),
              static_cast<float>(saved),
              static_cast<float>(gain / kPagesPerUnit)};
    return size_t{1};
  };
  Best best = best_home(by_node, home);
  double most = *std::max_element(by_node, by_node + topology_.nodes);
  if (!options_.benefit_test || most >= options_.whole_share * total) {
    if (best.node == home)
      return 0;
    // One interval, the first, may be a start or a processor that had to wait; and 512 pages are much to move for it.
    if (options_.neighbours && unit.quiet == 0) {
      counters_.mixed_left++;
      return 0;
    }
    double gain = benefit(best.saved_ns, options_.move_superpage_ns);
    if (gain > 0)
      return whole(Action::kMoveUnit, best.node, best.saved_ns, gain);
    counters_.not_worth++;
    return 0;
  }
  // Young and mixed may only mean that one node initialised it and another uses it.
  if (options_.neighbours && unit.quiet == 0) {
    counters_.mixed_left++;
    return 0;
  }
  const Grain grain = grain_of(unit, total);
  if (grain.separable)
    if (size_t n = plan_split(unit, total, grain.pages, out, capacity))
      return n;
  // Too young to tell the users of its parts from users of all of it: once moved whole it could not be split for a while.
  if (grain.pages == 0 && options_.neighbours) {
    counters_.mixed_left++;
    return 0;
  }
  // Hot and mixed. No place is near to all its users, but one may be less busy.
  double mean = mean_load();
  if (options_.interleave_above > 0 && load_[home] > options_.interleave_above * mean) {
    double saved = accesses(total) * latency(home, home) * (1 - mean / load_[home]);
    double gain = benefit(saved, options_.move_superpage_ns);
    if (gain > 0)
      return whole(Action::kInterleave, kNoNode, saved, gain);
  }
  counters_.mixed_left++;
  return 0;
}

/// Accesses of a superpage by pieces of it: in how large ones, at least, two samples of one piece are the rule?
MigrationPolicy::Grain MigrationPolicy::grain_of(const Unit &unit, double total) const {
  // A page of one sample looks as if it had one user, so shares of maxima would find every sparsely
  // sampled superpage separable. Simpson's estimator, sum c(c-1) / t(t-1), is unbiased for sum p^2;
  // one user with share w and one other have w^2 + (1-w)^2 at most.
  const double w = options_.whole_share;
  const unsigned largest = options_.neighbours && total >= kTellingSamples ? kPagesPerUnit / 2 : 1;
  for (unsigned pages = 1; pages <= largest; pages *= 2) {
    double concentrated = 0, seen = 0;
    for (unsigned first = 0; first < kPagesPerUnit; first += pages) {
      double by_node[kMaxNodes];
      const double t = sum_of(&unit.page[first], pages, by_node);
      if (t < least_in_piece(pages))
        continue;
      double pairs = 0;
      for (unsigned n = 0; n < topology_.nodes; n++)
        pairs += by_node[n] * (by_node[n] - 1);
      concentrated += pairs / (t - 1);
      seen += t;
    }
    if (2 * seen >= total)
      return {pages, concentrated >= (w * w + (1 - w) * (1 - w)) * seen};
  }
  return {0, false};
}

/// Samples from which on a piece says who uses it. Single pages: two, they are many and chance evens out; the few large
/// pieces of a superpage that was hardly sampled must each be sure.
double MigrationPolicy::least_in_piece(unsigned pages) const {
  constexpr double kSure = 8; // 7 of 8 from one of two equal users by chance: one in fourteen
  return pages == 1 ? std::max(2.0, static_cast<double>(options_.least_samples)) : kSure;
}

/// Accesses to these pages, by node and all together.
double MigrationPolicy::sum_of(const PageCounts *page, unsigned pages, double *by_node) const {
  double total = 0;
  std::fill(by_node, by_node + topology_.nodes, 0.0);
  for (unsigned p = 0; p < pages; p++)
    for (unsigned s = 0; s < PageCounts::kSlots; s++)
      if (page[p].slot_count(s) && page[p].slot_node(s) < topology_.nodes) {
        by_node[page[p].slot_node(s)] += page[p].slot_count(s);
        total += page[p].slot_count(s);
      }
  return total;
}

/// The trap of superpages on NUMA: each page has one user, the superpage has many.
size_t MigrationPolicy::plan_split(Unit &unit, double total, unsigned piece, Move *out,
                                   size_t capacity) {
  uint8_t home = unit.page[0].home();
  size_t n = 1;
  double saved = 0;
  for (unsigned first = 0; first < kPagesPerUnit; first += piece) {
    double by_node[kMaxNodes];
    if (sum_of(&unit.page[first], piece, by_node) < least_in_piece(piece))
      continue;
    for (unsigned node = 0; node < topology_.nodes; node++)
      by_node[node] /= piece;
    Best best = best_home(by_node, home);
    if (best.node == home || benefit(best.saved_ns, options_.move_page_ns) <= 0)
      continue;
    for (unsigned p = first; p < first + piece && n < capacity; p++) {
      saved += best.saved_ns;
      out[n++] = {&unit, static_cast<uint16_t>(p),          home, best.node, Action::kMovePage,
                  0,     static_cast<float>(best.saved_ns), 0};
    }
  }
  double lost = accesses(total) * options_.superpage_saves_ns_per_access;
  double gain =
      benefit(saved - lost, options_.split_ns + static_cast<double>(n - 1) * options_.move_page_ns);
  if (n == 1 || gain <= 0)
    return 0;
  float each = static_cast<float>(gain / static_cast<double>(n - 1));
  for (size_t i = 1; i < n; i++)
    out[i].benefit_ns = out[i].priority = each;
  out[0] = {&unit, 0, home, home, Action::kSplit, static_cast<float>(gain), 0, each};
  return n;
}

/// Three quiet intervals after a split, and all pages have come to lie on one node.
size_t MigrationPolicy::plan_collapse(Unit &unit, Move *out, size_t capacity) {
  constexpr unsigned kQuietIntervals = 3;
  if (!unit.was_superpage || unit.quiet < kQuietIntervals || capacity == 0)
    return 0;
  uint8_t home = unit.page[0].home();
  double total = 0;
  for (const PageCounts &page : unit.page) {
    if (page.home() != home)
      return 0;
    total += page.total();
  }
  double saved = accesses(total) * options_.superpage_saves_ns_per_access;
  double gain = benefit(saved, options_.collapse_ns);
  if (home == kNoNode || (options_.benefit_test && gain <= 0))
    return 0;
  out[0] = {&unit,
            0,
            home,
            home,
            Action::kCollapse,
            static_cast<float>(gain),
            static_cast<float>(saved),
            static_cast<float>(gain / kPagesPerUnit)};
  return 1;
}

bool MigrationPolicy::admit(Move &move, uint64_t &pages_left) {
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
  if (move.pages() > pages_left) {
    counters_.rate_limited++;
    return false;
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
  pages_left -= move.pages();
  free_bytes_[move.to] -= bytes;
  load_[move.to] = after;
  load_[move.from] -= load;
  return true;
}

size_t MigrationPolicy::plan(Unit *const *units, size_t count, Move *out, size_t capacity) {
  counters_.intervals++;
  sum_loads(units, count);
  judge_trials();
  size_t n = 0;
  for (size_t u = 0; u < count; u++) {
    Unit &unit = *units[u];
    if (unit.touched)
      n += unit.granularity == Granularity::kSuperpage ? plan_superpage(unit, out + n, capacity - n)
                                                       : plan_pages(unit, out + n, capacity - n);
    if (unit.granularity == Granularity::kPages)
      n += plan_collapse(unit, out + n, capacity - n);
  }
  // Freezes thaw here: after they were looked at, before the moves of this interval set new ones.
  for (size_t u = 0; u < count; u++)
    if (units[u]->touched)
      for (PageCounts &page : units[u]->page)
        page.thaw();
  // The best first; a split directly before the moves that need it.
  std::sort(out, out + n, [](const Move &a, const Move &b) {
    if (a.priority != b.priority)
      return a.priority > b.priority;
    if (a.unit != b.unit)
      return a.unit->address < b.unit->address;
    if ((a.action == Action::kSplit) != (b.action == Action::kSplit))
      return a.action == Action::kSplit;
    return a.page < b.page;
  });
  uint64_t pages_left =
      options_.most_pages_per_interval ? options_.most_pages_per_interval : UINT64_MAX;
  size_t kept = 0;
  for (size_t i = 0; i < n; i++)
    if (admit(out[i], pages_left))
      out[kept++] = out[i];
  // A split none of whose moves was admitted would only cost.
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
    counters_.interleaved++; // for the balance: nothing was promised of its own accesses
  else if (carried_++ % trial_stride_ == 0 && trial_count_ < kTrials)
    remember(move);
}

uint32_t MigrationPolicy::count_of(const Unit &unit, uint16_t page, uint8_t node,
                                   unsigned keep256) {
  uint32_t sum = 0;
  const unsigned first = page == kWholeUnit ? 0 : page;
  for (unsigned p = first; p < (page == kWholeUnit ? kPagesPerUnit : first + 1u); p++)
    sum += unit.page[p].count(node) * keep256 / 256; // page by page, as they will age
  return sum;
}

void MigrationPolicy::remember(const Move &move) {
  const uint16_t page = move.action == Action::kMovePage ? move.page : kWholeUnit;
  trials_[trial_count_++] = {move.unit,
                             count_of(*move.unit, page, move.from, options_.keep256),
                             count_of(*move.unit, page, move.to, options_.keep256),
                             page,
                             move.from,
                             move.to,
                             move.saved_ns_interval,
                             0};
}

void MigrationPolicy::forget(const Unit &unit) {
  for (unsigned i = 0; i < trial_count_;)
    if (trials_[i].unit == &unit)
      trials_[i] = trials_[--trial_count_];
    else
      i++;
}

/// What the accesses of an interval take at least, as the samples tell.
double MigrationPolicy::interval_ns() const {
  double samples = 0, least = latency(0, 0);
  for (unsigned n = 0; n < topology_.nodes; n++) {
    samples += load_[n];
    least = std::min(least, latency(n, n));
  }
  return accesses(samples) * least;
}

/// What did the moves of the last intervals bring in this one? A broken promise stops all moves for a
/// while, four times as long each time: a program whose pages wander pays for a few tries, not for ever.
void MigrationPolicy::judge_trials() {
  if (pause_ > 0) {
    trial_count_ = 0;
    evidence_ = {};
    if (--pause_ == 0)
      trust_ = 0.25;
    return;
  }
  // A page that nobody used meanwhile says nothing about its new place: it is asked again, three times.
  constexpr unsigned kMostWaits = 3;
  unsigned waiting = 0;
  for (unsigned i = 0; i < trial_count_; i++) {
    Trial t = trials_[i];
    const double near = static_cast<double>(count_of(*t.unit, t.page, t.to, 256)) - t.to_count;
    const double far = static_cast<double>(count_of(*t.unit, t.page, t.from, 256)) - t.from_count;
    if (near <= 0 && far <= 0) {
      t.to_count = count_of(*t.unit, t.page, t.to, options_.keep256);
      t.from_count = count_of(*t.unit, t.page, t.from, options_.keep256);
      if (t.waited++ < kMostWaits)
        trials_[waiting++] = t;
      continue;
    }
    evidence_.promised_ns += t.saved_ns;
    evidence_.seen += std::max(near, 0.0) + std::max(far, 0.0);
    // A page speaks for what was promised of it: one that is hot and goes wrong must not outvote all others.
    const double saved =
        (near - far) * options_.sample_period * (latency(t.to, t.from) - latency(t.to, t.to));
    evidence_.saved_ns += std::clamp<double>(saved, -t.saved_ns, t.saved_ns);
    evidence_.judged++;
  }
  constexpr double kConclusiveSamples = 16;
  constexpr unsigned kConclusiveTrials = 4; // what fewer pages cost is not worth a pause of all
  // Nor is what promised to save next to nothing: the first pages to move are the hottest, often those that all nodes share.
  constexpr double kConclusiveShare = 0.01; // of the time that all accesses take
  if (evidence_.seen >= kConclusiveSamples && evidence_.judged >= kConclusiveTrials &&
      evidence_.promised_ns > kConclusiveShare * interval_ns()) {
    double kept = std::clamp(evidence_.saved_ns / evidence_.promised_ns, 0.0, 1.0);
    trust_ = (trust_ + kept) / 2;
    evidence_ = {};
    constexpr double kBroken = 0.1, kWell = 0.5;
    if (kept < kBroken) {
      failures_ = std::min(failures_ + 1, 5u);
      pause_ = 1u << 2 * failures_;
      trust_ = 0;
    } else if (kept > kWell) {
      failures_ = 0;
    }
  } else { // little trust lets too little move to tell whether it is right: it comes back
    constexpr double kBack = 1.0 / 8;
    trust_ += (1 - trust_) * kBack;
    evidence_.age();
  }
  // More moves than trials last time: look at every so manieth of them.
  trial_stride_ = 1 + carried_ / kTrials;
  trial_count_ = waiting;
  carried_ = 0;
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
