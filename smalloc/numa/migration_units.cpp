// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// migration_units.cpp plans what is best for one unit alone: where its pages, or the superpage as a
// whole, belong, whether to split the superpage, and whether to collapse its pages again.
#include "smalloc/numa/migration_policy.h"
#include "smalloc/numa/neighbourhood.h"

#include <algorithm>
#include <optional>

namespace smalloc::numa {

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
  if (!options_.benefit_test) { // the published rule: the node that uses it most, the first of
                                // equals
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

/// True if the saving of a move is unlikely to be chance. If two nodes use a page alike, chance
/// puts one of them ahead at each interval, and the page would move to and fro for ever. With
/// enough samples the saving must be twice its standard deviation (a count spreads by its square
/// root).
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

/// Returns the plan's entry for a whole unit: `saved` ns an interval, `gain` ns over the horizon.
Move MigrationPolicy::whole_move(Unit &unit, Action action, uint8_t to, double saved, double gain) {
  return {&unit,
          0,
          unit.page[0].home(),
          to,
          action,
          static_cast<float>(gain),
          static_cast<float>(saved),
          static_cast<float>(gain / kPagesPerUnit)};
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
  const double most = *std::max_element(by_node, by_node + topology_.nodes);
  if (!options_.benefit_test || most >= options_.whole_share * total)
    return plan_whole_move(unit, best_home(by_node, home), out);
  // A superpage in its first interval may have several users only because one node initialised it
  // and another uses it.
  if (options_.neighbours && unit.quiet == 0) {
    counters_.mixed_left++;
    return 0;
  }
  const Grain grain = grain_of(unit, total);
  if (grain.separable)
    if (size_t n = plan_split(unit, total, grain.pages, out, capacity))
      return n;
  // Too few samples to distinguish users of its parts from users of all of it. Once moved whole, it
  // could not be split for a while.
  if (grain.pages == 0 && options_.neighbours) {
    counters_.mixed_left++;
    return 0;
  }
  if (plan_interleave(unit, total, out))
    return 1;
  counters_.mixed_left++;
  return 0;
}

/// Plans the move of a superpage with one user to the home `best`. Returns the number of moves.
size_t MigrationPolicy::plan_whole_move(Unit &unit, const Best &best, Move *out) {
  if (best.node == unit.page[0].home())
    return 0;
  // The samples of a first interval may show the program's start, or one processor while the others
  // had to wait. Moving 512 pages is expensive.
  if (options_.neighbours && unit.quiet == 0) {
    counters_.mixed_left++;
    return 0;
  }
  const double gain = benefit(best.saved_ns, options_.move_superpage_ns);
  if (gain <= 0) {
    counters_.not_worth++;
    return 0;
  }
  *out = whole_move(unit, Action::kMoveUnit, best.node, best.saved_ns, gain);
  return 1;
}

/// Plans the move of a hot and mixed superpage with `total` samples: no node is near to all users,
/// but one may be less busy. False: its home is not busy enough.
bool MigrationPolicy::plan_interleave(Unit &unit, double total, Move *out) const {
  const uint8_t home = unit.page[0].home();
  const double mean = mean_load();
  if (options_.interleave_above <= 0 || load_[home] <= options_.interleave_above * mean)
    return false;
  const double saved = accesses(total) * latency(home, home) * (1 - mean / load_[home]);
  const double gain = benefit(saved, options_.move_superpage_ns);
  if (gain <= 0)
    return false;
  *out = whole_move(unit, Action::kInterleave, kNoNode, saved, gain);
  return true;
}

/// Returns the smallest piece size whose pieces hold at least half of the samples in pieces that
/// have enough, and whether each piece has one user.
MigrationPolicy::Grain MigrationPolicy::grain_of(const Unit &unit, double total) const {
  // Simpson's estimator, sum c(c-1) / t(t-1), is unbiased for sum p^2. One user with share w and
  // one other have at most w^2 + (1-w)^2. Shares of maxima would not do: a page of one sample looks
  // as if it had one user, so every sparsely sampled superpage would look separable.
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

/// Returns the samples from which a piece shows its user. Two for single pages: they are many, and
/// chance evens out. A superpage with few samples has few large pieces, and each must be sure.
double MigrationPolicy::least_in_piece(unsigned pages) const {
  constexpr double kSure = 8; // by chance 7 of 8 come from one of two equal users: one in fourteen
  return pages == 1 ? std::max(2.0, static_cast<double>(options_.least_samples)) : kSure;
}

/// Sums the accesses to these pages into `by_node`. Returns their total.
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

/// Plans a split and the moves of its pieces: each page has one user, but the superpage has
/// several.
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

/// Plans a collapse if three quiet intervals have passed since a split and all pages lie on one
/// node.
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
  *out = whole_move(unit, Action::kCollapse, home, saved, gain);
  return 1;
}

} // namespace smalloc::numa
