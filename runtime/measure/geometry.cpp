// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// geometry.cpp plans the chases and derives the geometry from their latencies.
#include "runtime/measure/geometry.h"

#include "runtime/measure/level_search.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

namespace smalloc::calibrate {
namespace {

// A chase that took this many times the median of its rounds was disturbed.
constexpr double kDisturbed = 2;
// kWalkSpread: the quartiles of a walk's rounds may differ by at most this factor times the
// estimate (by memory: 0.9 at most on a Xeon guest). kWalkGrowth: the cost grows by less than this
// factor when the page count doubles (idle Zen 4 guest: 1.55 at most; that Xeon: 2.4).
constexpr double kWalkSpread = 1.25, kWalkGrowth = 2.5;
// Cycles of spread that are always allowed: overlapping walks cost very little.
constexpr double kOverlappedSlack = 4;
// Share of the chase's cycles that is always allowed as spread; the walk may be the smaller part.
constexpr double kChaseSlack = 0.05;
// Most lines that a walk's chase visits. Their data and the list of their order must not take long
// to make. 64 MiB of data are more than most last-level caches hold.
constexpr uint64_t kLinesOfWalks = uint64_t{1} << 20;
constexpr uint64_t kLineBytes = 64;
// kBackingSpacings: spacings inside superpages that are tried, to find the page size that really
// backs them. kFewestSuperpages: fewest pages for a survey; the smallest levels for pages of 1 GiB
// have 4 entries.
constexpr uint64_t kFewestSuperpages = 10;
constexpr uint64_t kBackingSpacings[] = {4096, 16384, 65536, 262144};

// If the median noise ratio exceeds this, half of the chases are off by a quarter and no result is
// valid.
constexpr double kUselessRatio = 1.25;

std::string size_text(uint64_t bytes) {
  if (bytes >= (uint64_t{1} << 30))
    return fmt::format("{} GiB", bytes >> 30);
  if (bytes >= (1u << 20))
    return fmt::format("{} MiB", bytes >> 20);
  return fmt::format("{} KiB", bytes >> 10);
}

// Returns the rounds without the fifth that is farthest from the median: these may be disturbed.
std::vector<double> without_strays(std::vector<double> rounds) {
  const double middle = median(rounds);
  std::sort(rounds.begin(), rounds.end(),
            [&](double a, double b) { return std::fabs(a - middle) < std::fabs(b - middle); });
  rounds.resize(rounds.size() - rounds.size() / 5);
  return rounds;
}

// True if the rounds differ by at most 4 entries or 10 %; otherwise they measure no capacity.
bool agree(const std::vector<double> &rounds) {
  const auto [low, high] = std::minmax_element(rounds.begin(), rounds.end());
  return *high - *low <= std::max(4.0, 0.1 * median(rounds));
}

Estimate estimate_of(const std::vector<double> &rounds) {
  const auto [low, high] = std::minmax_element(rounds.begin(), rounds.end());
  return {median(rounds), *low, *high};
}

// Estimates the cost of a walk. The cost depends on where the pages and their page tables lie, in
// guest and host. On a Xeon guest it was 100 to 600 cycles over 65,536 pages, depending on how
// scattered the kernel's free frames were.
// A program may get any of these frames, so the value is the mean between the quartiles. (If memory
// is of two kinds, a median would be of one kind.) The range is the quartiles.
// Other users of the caches only make rounds slower. So rounds above twice the median are dropped
// if they are at most a third of all.
Estimate walk_estimate(std::vector<double> rounds) {
  std::sort(rounds.begin(), rounds.end());
  const double dearest = kDisturbed * median(rounds) + kOverlappedSlack;
  const auto disturbed = std::upper_bound(rounds.begin() + 1, rounds.end(), dearest);
  if (rounds.end() - disturbed <= static_cast<ptrdiff_t>(rounds.size() / 3))
    rounds.erase(disturbed, rounds.end());
  const auto left_out = static_cast<ptrdiff_t>(rounds.size() / 4);
  const auto first = rounds.begin() + left_out, end = rounds.end() - left_out;
  return {std::accumulate(first, end, 0.0) / static_cast<double>(end - first), *first, *(end - 1)};
}

class Survey {
public:
  Survey(LatencySource &source, const GeometryPlan &plan) : source_(source), plan_(plan) {}

  Geometry run() {
    survey_base_pages();
    plan_.progress(0.5);
    for (uint64_t superpage : plan_.superpage_bytes) {
      find_backing(superpage);
      survey_superpages(superpage);
    }
    for (uint64_t size : plan_.other_bytes)
      survey_superpages(size);
    plan_.progress(0.7);
    survey_walks();
    result_.noise_ratio = noise_.empty() ? 1 : median(noise_);
    result_.noisy |= result_.noise_ratio > kNoisyRatio;
    if (result_.noise_ratio > kUselessRatio)
      give_up();
    return std::move(result_);
  }

private:
  // Adds a level if enough rounds saw it and agree; otherwise records the reason in `unknown`.
  // Returns true if the level was added.
  bool add_level(unsigned number, uint64_t page_bytes, const std::vector<double> &all_rounds) {
    const std::vector<double> rounds = without_strays(all_rounds);
    const std::string name = fmt::format("TLB level {}, {}", number, size_text(page_bytes));
    if (all_rounds.size() * 2 <= plan_.rounds) {
      result_.noisy |= !rounds.empty();
      result_.unknown.push_back(
          name + (rounds.empty() ? ": unknown (no knee in the latencies)" : ": unknown (noisy)"));
      return false;
    }
    if (!agree(rounds)) {
      const Estimate e = estimate_of(rounds);
      result_.noisy = true;
      result_.unknown.push_back(
          fmt::format("{}: unknown (noisy: {:g} to {:g} entries)", name, e.low, e.high));
      return false;
    }
    result_.levels.push_back({number, page_bytes, estimate_of(rounds), std::nullopt, false});
    return true;
  }

  // Discards all results because most chases were disturbed. Rounds may agree on the disturbance.
  void give_up() {
    for (const LevelEstimate &level : result_.levels)
      result_.unknown.push_back(fmt::format("TLB level {}, {}: unknown (noisy)", level.level,
                                            size_text(level.page_bytes)));
    if (!result_.walks.empty())
      result_.unknown.push_back("walk costs: unknown (noisy)");
    result_.levels.clear();
    result_.walks.clear();
    result_.overlapped_walks.clear();
    result_.overlapped_near_walks.clear();
    result_.doubtful_second_level.reset();
    result_.second_level_hit_cycles.reset();
    result_.backing_page_bytes.reset();
  }

  void survey_base_pages() {
    const uint64_t page = plan_.base_page_bytes;
    const uint64_t most = std::min(plan_.max_pages, source_.max_lines(page, page));
    std::vector<double> first, second, hit;
    for (unsigned round = 0; round < plan_.rounds; round++) {
      if (round)
        source_.refresh();
      const LevelSearch found =
          search_levels(source_, {page, page}, most, plan_.grid_ratio, noise_);
      if (found.levels.size() > levels_.size())
        levels_ = found.levels;
      if (!found.levels.empty())
        first.push_back(found.levels[0].entries);
      if (found.levels.size() > 1) {
        second.push_back(found.levels[1].entries);
        hit.push_back(found.levels[0].cycles_beyond);
      }
      plan_.progress(0.45 * (round + 1) / plan_.rounds);
    }
    if (!add_level(1, page, first))
      return;
    first_level_ = result_.levels.back().entries.value;
    beyond_ = levels_.front().cycles_beyond;
    result_.levels.back().ways = find_ways(source_, page, first_level_, beyond_, noise_);
    if (!result_.levels.back().ways)
      result_.unknown.push_back(
          fmt::format("ways of TLB level 1, {}: unknown (no power-of-two index)", size_text(page)));
    // If few rounds saw a second level, the processor may have only one, or the curve is too noisy.
    if (!second.empty() && add_level(2, page, second))
      result_.second_level_hit_cycles = estimate_of(hit);
    else if (second.size() * 2 > plan_.rounds)
      result_.doubtful_second_level = estimate_of(without_strays(second));
  }

  void find_backing(uint64_t superpage) {
    if (first_level_ == 0 || result_.backing_page_bytes)
      return;
    for (uint64_t spacing : kBackingSpacings) {
      if (spacing < plan_.base_page_bytes || spacing >= superpage)
        continue;
      const auto lines = static_cast<uint64_t>(2 * first_level_);
      std::vector<double> cycles;
      for (unsigned i = 0; i < 3; i++)
        if (const auto t = translation_cycles(source_, {superpage, spacing, lines}, {}, noise_))
          cycles.push_back(*t);
      if (cycles.empty())
        return;
      if (median(cycles) >= beyond_ / 2) {
        result_.backing_page_bytes = spacing;
        return;
      }
    }
    result_.backing_page_bytes = superpage;
  }

  void survey_superpages(uint64_t superpage) {
    const uint64_t most = source_.max_lines(superpage, superpage);
    if (most < kFewestSuperpages) {
      result_.unknown.push_back(
          fmt::format("TLB, {}: unknown (no such pages available)", size_text(superpage)));
      return;
    }
    const uint64_t backing = result_.backing_page_bytes.value_or(superpage);
    const bool hidden = backing < superpage;
    // With a smaller backing the entries are those of the smaller page. The second level then shows
    // nothing that the base pages have not shown.
    const uint64_t wanted =
        hidden ? static_cast<uint64_t>(3 * std::max(first_level_, 64.0)) : plan_.max_pages;
    std::vector<double> first, second;
    for (unsigned round = 0; round < plan_.rounds; round++) {
      const LevelSearch found = search_levels(source_, {superpage, superpage},
                                              std::min(most, wanted), plan_.grid_ratio, noise_);
      if (!found.levels.empty())
        first.push_back(found.levels[0].entries);
      if (found.levels.size() > 1)
        second.push_back(found.levels[1].entries);
    }
    const bool is_superpage =
        std::count(plan_.superpage_bytes.begin(), plan_.superpage_bytes.end(), superpage) > 0;
    if (most <= kFewestSuperpages * 2 && first.empty())
      result_.unknown.push_back(fmt::format("TLB level 1, {}: unknown (memory for {} pages only)",
                                            size_text(superpage), most));
    else if (add_level(1, superpage, first) && is_superpage)
      find_sharing();
    if (hidden)
      result_.unknown.push_back(fmt::format("TLB level 2, {}: unknown (backing {})",
                                            size_text(superpage), size_text(backing)));
    else if (most < plan_.max_pages && second.empty())
      result_.unknown.push_back(fmt::format("TLB level 2, {}: unknown (memory for {} pages only)",
                                            size_text(superpage), most));
    else
      add_level(2, superpage, second);
  }

  // Tests whether base pages and superpages share first-level entries. The chase has 1.5 times the
  // entries of one size, half of the lines on each size. Separate entries hold them; shared ones do
  // not.
  void find_sharing() {
    LevelEstimate &super = result_.levels.back();
    LevelEstimate *base = nullptr;
    for (LevelEstimate &level : result_.levels)
      if (level.level == 1 && level.page_bytes == plan_.base_page_bytes)
        base = &level;
    if (!base || std::fabs(base->entries.value - super.entries.value) >
                     std::max(2.0, 0.1 * base->entries.value))
      return;
    Chase mixed{plan_.base_page_bytes, plan_.base_page_bytes,
                static_cast<uint64_t>(1.5 * base->entries.value)};
    mixed.other_page_bytes = super.page_bytes;
    std::vector<double> cycles;
    for (unsigned i = 0; i < 3; i++)
      if (const auto t = translation_cycles(source_, mixed, {}, noise_))
        cycles.push_back(*t);
    if (!cycles.empty() && median(cycles) >= beyond_ / 2)
      base->shared = super.shared = true;
  }

  struct WalkCurve {
    uint64_t page_bytes, spacing;
    bool overlapped, near;                          // near: one line per page
    std::vector<std::vector<double>> cycles;        // for each page count, the value of each round
    std::vector<std::vector<double>> on_superpages; // the same chase on superpages; empty: no
                                                    // superpages
  };

  void survey_walks() {
    const uint64_t base = plan_.base_page_bytes;
    std::vector<WalkCurve> curves{{base, base, false, false, {}, {}},
                                  {base, base, true, false, {}, {}},
                                  {base, base, true, true, {}, {}}};
    for (unsigned round = 0; round < plan_.walk_rounds; round++) {
      if (round >= plan_.least_walk_rounds && plan_.hurry())
        break;
      source_.refresh();
      for (WalkCurve &curve : curves)
        walk_round(curve, round);
      plan_.progress(0.7 + 0.3 * (round + 1) / plan_.walk_rounds);
    }
    for (const WalkCurve &curve : curves)
      add_walks(curve);
    leave_out_impossible();
  }

  // Removes walks that cost less when loads wait for them than when walks overlap. That is
  // impossible: another process used the caches while the chase was on superpages.
  void leave_out_impossible() {
    std::erase_if(result_.walks, [&](const WalkPoint &walk) {
      for (const WalkPoint &other : result_.overlapped_walks)
        if (other.page_bytes == walk.page_bytes && other.pages == walk.pages &&
            walk.cycles.value + kOverlappedSlack < other.cycles.value) {
          result_.noisy = true;
          result_.unknown.push_back(fmt::format(
              "walk, {}, {} lines: unknown (noisy: {:.0f} cycles, and {:.0f} where walks overlap)",
              size_text(walk.page_bytes), walk.pages, walk.cycles.value, other.cycles.value));
          return true;
        }
      return false;
    });
  }

  // Measures a walk's cost as the same chase on base pages and on superpages; their difference is
  // the cost. The caches are full of data, or hold the data of the chase. The difference is right
  // on any backing, because both chases contain what superpages do not save. Returns false if there
  // are not enough superpages.
  bool against_superpages(WalkCurve &curve, size_t i) {
    const uint64_t pages = plan_.walk_pages[i],
                   superpage = plan_.superpage_bytes.empty() ? 0 : plan_.superpage_bytes.front();
    if (!superpage || pages > source_.max_lines(superpage, curve.spacing))
      return false;
    Chase chase{curve.page_bytes, curve.spacing, pages};
    chase.independent = curve.overlapped;
    // Independent loads need no list of all lines, so the data are as large as in a program with as
    // many pages.
    const uint64_t lines_a_page = curve.spacing / kLineBytes;
    if (curve.overlapped && !curve.near)
      chase.lines_a_page = lines_a_page;
    else if (!curve.near)
      chase.lines_a_page = std::clamp<uint64_t>(kLinesOfWalks / pages, 2, lines_a_page);
    const auto small = source_.chase(chase);
    chase.page_bytes = superpage;
    const auto large = source_.chase(chase);
    if (!small || !large)
      return false;
    curve.cycles[i].push_back(small->cycles);
    curve.on_superpages[i].push_back(large->cycles);
    return true;
  }

  void walk_round(WalkCurve &curve, unsigned round) {
    curve.cycles.resize(plan_.walk_pages.size());
    curve.on_superpages.resize(plan_.walk_pages.size());
    for (size_t i = 0; i < plan_.walk_pages.size(); i++) {
      const uint64_t lines = plan_.walk_pages[i];
      if (lines > source_.max_lines(curve.page_bytes, curve.spacing) ||
          (lines > plan_.far_pages && round >= plan_.far_rounds))
        continue;
      if (against_superpages(curve, i))
        continue;
      // Without superpages: chase one line per page minus the same lines packed. These data are
      // always near.
      if (curve.near || !curve.on_superpages[i].empty())
        continue; // the two methods must not be mixed
      Chase chase{curve.page_bytes, curve.spacing, lines};
      chase.independent = curve.overlapped;
      // Short times are easily disturbed; only the long ones show the noise of the machine.
      std::vector<double> own_noise;
      // The packed lines' own misses overlap as well and then cost almost nothing.
      if (const auto t = translation_cycles(
              source_, chase, curve.overlapped ? std::span<const FoundLevel>() : levels_,
              curve.overlapped ? own_noise : noise_))
        curve.cycles[i].push_back(std::max(*t, 0.0));
    }
  }

  void add_walks(const WalkCurve &curve) {
    double last = 0, last_pages = 1;
    for (size_t i = 0; i < curve.cycles.size(); i++) {
      if (curve.cycles[i].empty())
        continue;
      Estimate found = walk_estimate(curve.cycles[i]);
      double slack = curve.overlapped ? kOverlappedSlack : 0;
      if (!curve.on_superpages[i].empty()) {
        const double rest = walk_estimate(curve.on_superpages[i]).value;
        for (double *cycles : {&found.value, &found.low, &found.high})
          *cycles = std::max(*cycles - rest, 0.0);
        slack = std::max(slack, kChaseSlack * rest);
      }
      // Other users of the caches may slow long walks in every round, so agreement of the rounds is
      // no proof. The growth limit for twice the pages detects such walks.
      const auto pages = static_cast<double>(plan_.walk_pages[i]);
      const double growth = std::pow(kWalkGrowth, std::max(std::log2(pages / last_pages), 1.0));
      if (found.high - found.low > kWalkSpread * found.value + slack ||
          (last > 0 && found.value > growth * std::max(last, slack) + slack)) {
        result_.noisy |= !curve.overlapped;
        result_.unknown.push_back(
            fmt::format("{}walk{}, {}, {} lines: unknown (noisy: {:.0f} to {:.0f} cycles)",
                        curve.overlapped ? "overlapped " : "", curve.near ? " near data" : "",
                        size_text(curve.page_bytes), plan_.walk_pages[i], found.low, found.high));
        continue;
      }
      last = found.value;
      last_pages = pages;
      (curve.near         ? result_.overlapped_near_walks
       : curve.overlapped ? result_.overlapped_walks
                          : result_.walks)
          .push_back({curve.page_bytes,
                      std::max<uint64_t>(plan_.walk_pages[i] * curve.spacing / curve.page_bytes, 1),
                      found});
    }
  }

  LatencySource &source_;
  const GeometryPlan &plan_;
  Geometry result_;
  std::vector<double> noise_;
  std::vector<FoundLevel> levels_;      // of base pages
  double first_level_ = 0, beyond_ = 0; // entries; cycles of a first-level miss
};

} // namespace

Geometry measure_geometry(LatencySource &source, const GeometryPlan &plan) {
  return Survey(source, plan).run();
}

} // namespace smalloc::calibrate
