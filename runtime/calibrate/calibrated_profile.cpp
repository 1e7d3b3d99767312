// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// calibrated_profile.cpp merges the sources in the order of trust and compares two profiles.
#include "runtime/calibrate/calibrated_profile.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace smalloc::calibrate {
namespace {

using format::MachineProfile;
using format::Number;

constexpr uint64_t k2M = 2u << 20, k1G = 1u << 30;

std::string size_text(uint64_t bytes) {
  return bytes >= k1G   ? fmt::format("{} GiB", bytes / k1G)
         : bytes >= k2M ? fmt::format("{} MiB", bytes >> 20)
                        : fmt::format("{} KiB", bytes >> 10);
}

Number rounded(const Estimate &e, double unit) {
  const auto r = [unit](double v) { return std::round(v / unit) * unit; };
  return {r(e.value), r(e.low), r(e.high), "measured"};
}
Number from(double value, const char *source) {
  return {value, std::nullopt, std::nullopt, source};
}

// Entries and ways of one level and page size, from one source.
struct Capacity {
  double entries = 0;
  std::optional<double> ways;
};

class Builder {
public:
  explicit Builder(const ProfileSources &sources) : s_(sources) {}

  MachineProfile build() {
    p_.name = s_.preset ? std::string("calibrated-") + s_.preset->name : "calibrated";
    p_.hypervisor = s_.hypervisor;
    p_.frequency_hz = s_.frequency_hz;
    p_.base_page_bytes = s_.base_page_bytes;
    for (unsigned level = 1; level <= 2; level++)
      for (uint64_t page : page_sizes())
        add_level(level, page);
    join_shared();
    reach();
    costs();
    counted_walks();
    for (const std::string &line : s_.geometry.unknown)
      p_.disagreements.push_back(line);
    for (const std::string &line : s_.costs.unknown)
      p_.disagreements.push_back(line);
    return std::move(p_);
  }

private:
  std::vector<uint64_t> page_sizes() const {
    std::vector<uint64_t> sizes{s_.base_page_bytes, k2M, k1G};
    for (const LevelEstimate &level : s_.geometry.levels)
      sizes.push_back(level.page_bytes);
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    return sizes;
  }

  std::optional<Capacity> preset(unsigned level, uint64_t page) const {
    if (!s_.preset)
      return std::nullopt;
    const struct smalloc_tlb_level &l = level == 1 ? s_.preset->l1 : s_.preset->l2;
    if (page == s_.base_page_bytes && page == s_.preset->base_page_bytes && l.entries_4k)
      return Capacity{double(l.entries_4k), double(l.ways_4k)};
    if (page == k2M && l.entries_2m)
      return Capacity{double(l.entries_2m), double(l.ways_2m)};
    if (page == k1G && l.entries_1g)
      return Capacity{double(l.entries_1g), double(l.ways_1g)};
    return std::nullopt;
  }

  std::optional<Capacity> cpuid(unsigned level, uint64_t page) const {
    for (const CpuidTlb &tlb : s_.cpuid)
      if (tlb.level == level && tlb.page_bytes == page)
        return Capacity{double(tlb.entries), double(tlb.ways)};
    return std::nullopt;
  }

  void add_level(unsigned number, uint64_t page) {
    const LevelEstimate *found = nullptr;
    for (const LevelEstimate &level : s_.geometry.levels)
      if (level.level == number && level.page_bytes == page)
        found = &level;
    const auto by_preset = preset(number, page), by_cpuid = cpuid(number, page);
    if (!found && !by_preset && !by_cpuid) {
      if (number == 2 && page == s_.base_page_bytes)
        add_doubtful_level();
      return;
    }
    format::TlbLevel level;
    level.level = number;
    level.page_bytes = {page};
    level.entries = found       ? rounded(found->entries, 1)
                    : by_preset ? from(by_preset->entries, "preset")
                                : from(by_cpuid->entries, "cpuid");
    if (found && found->ways)
      level.ways = from(*found->ways, "measured");
    else if (by_preset)
      level.ways = from(*by_preset->ways, "preset");
    else if (by_cpuid)
      level.ways = from(*by_cpuid->ways, "cpuid");
    // Discard a preset's ways if they exceed the measured entries.
    if (level.ways.value && *level.ways.value > *level.entries.value)
      level.ways = {};
    level.shared = found && found->shared;
    p_.tlb.push_back(level);
    disagreement(fmt::format("TLB level {}, {}", number, size_text(page)), level.entries, by_preset,
                 by_cpuid);
  }

  // Adds the second level whose rounds disagree, if no source knows the processor. Its estimate is
  // nearer to the truth than taking the first level for the last.
  void add_doubtful_level() {
    if (!s_.geometry.doubtful_second_level)
      return;
    format::TlbLevel level;
    level.level = 2;
    level.page_bytes = {s_.base_page_bytes};
    level.entries = rounded(*s_.geometry.doubtful_second_level, 1);
    level.entries.source = "unknown";
    p_.tlb.push_back(level);
  }

  void disagreement(const std::string &what, const Number &taken,
                    const std::optional<Capacity> &by_preset,
                    const std::optional<Capacity> &by_cpuid) {
    std::string others;
    const auto compare = [&](const char *source, const std::optional<Capacity> &other) {
      if (other && taken.source != source &&
          std::fabs(other->entries - *taken.value) > std::max(2.0, 0.05 * *taken.value))
        others += fmt::format(", {} says {:g}", source, other->entries);
    };
    compare("preset", by_preset);
    compare("cpuid", by_cpuid);
    if (!others.empty())
      p_.disagreements.push_back(
          fmt::format("{}: {} {:g} entries{}", what, taken.source, *taken.value, others));
  }

  // Joins the levels whose array serves both page sizes into one level of the profile.
  void join_shared() {
    format::TlbLevel *first = nullptr;
    for (size_t i = 0; i < p_.tlb.size();) {
      if (!p_.tlb[i].shared) {
        i++;
      } else if (!first) {
        first = &p_.tlb[i++];
      } else {
        first->page_bytes.insert(first->page_bytes.end(), p_.tlb[i].page_bytes.begin(),
                                 p_.tlb[i].page_bytes.end());
        p_.tlb.erase(p_.tlb.begin() + static_cast<ptrdiff_t>(i));
      }
    }
  }

  void reach() {
    const LevelEstimate *last = nullptr;
    for (const LevelEstimate &level : s_.geometry.levels)
      if (level.page_bytes == s_.base_page_bytes && (!last || level.level > last->level))
        last = &level;
    // The first level is the reach only of a processor that has no second level.
    const bool second_expected = preset(2, s_.base_page_bytes).has_value() ||
                                 cpuid(2, s_.base_page_bytes).has_value() ||
                                 s_.geometry.doubtful_second_level.has_value();
    if (last && (last->level > 1 || !second_expected))
      p_.reach_pages = rounded(last->entries, 1);
    else if (s_.preset)
      p_.reach_pages = from(smalloc_machine_reach_pages(s_.preset), "preset");
  }

  void costs() {
    const Geometry &g = s_.geometry;
    if (g.backing_page_bytes)
      p_.backing_page_bytes = from(double(*g.backing_page_bytes), "measured");
    if (g.second_level_hit_cycles)
      p_.l2_hit_cycles = rounded(*g.second_level_hit_cycles, 0.01);
    else if (s_.preset && s_.preset->l2.entries_4k)
      p_.l2_hit_cycles = from(s_.preset->l2_hit_cycles, "preset");
    for (const WalkPoint &walk : g.walks)
      p_.walk_cost.push_back({walk.page_bytes, walk.pages, rounded(walk.cycles, 0.1)});
    for (const WalkPoint &walk : g.overlapped_walks)
      p_.overlapped_walk_cost.push_back({walk.page_bytes, walk.pages, rounded(walk.cycles, 0.1)});
    for (const WalkPoint &walk : g.overlapped_near_walks)
      p_.overlapped_near_walk_cost.push_back(
          {walk.page_bytes, walk.pages, rounded(walk.cycles, 0.1)});
    if (g.walks.empty() && s_.preset)
      p_.walk_cost = format::profile_of_preset(*s_.preset).walk_cost;
    for (const CostOfPage &touch : s_.costs.first_touch_ns)
      p_.first_touch_ns.push_back({touch.page_bytes, rounded(touch.value, 1)});
    for (const CostOfPage &rate : s_.costs.bandwidth_bytes_per_second)
      p_.bandwidth_bytes_per_second.push_back({rate.page_bytes, rounded(rate.value, 1e6)});
    if (s_.costs.read_first_ns)
      p_.read_first_ns = rounded(*s_.costs.read_first_ns, 1);
    if (s_.costs.collapse_ns)
      p_.collapse_ns = rounded(*s_.costs.collapse_ns, 1);
    if (s_.costs.prefetch_max_stride_bytes)
      p_.prefetch_max_stride_bytes = from(double(*s_.costs.prefetch_max_stride_bytes), "measured");
    else if (s_.preset)
      p_.prefetch_max_stride_bytes = from(s_.preset->prefetch_max_stride_bytes, "preset");
    p_.prefetch_crosses_page = s_.costs.prefetch_crosses_page;
  }

  // Compares the cost of a walk that the chase measured with the cost that the PMU counted.
  void counted_walks() {
    if (!s_.counted.cycles) {
      if (!s_.counted.why.empty())
        p_.disagreements.push_back(
            fmt::format("walk, counted by the PMU: unknown ({})", s_.counted.why));
      return;
    }
    const WalkPoint *last = nullptr;
    for (const WalkPoint &walk : s_.geometry.walks)
      if (walk.page_bytes == s_.base_page_bytes && (!last || walk.pages > last->pages))
        last = &walk;
    const double counted = *s_.counted.cycles;
    if (!last)
      p_.walk_cost.push_back({s_.base_page_bytes, std::nullopt, from(counted, "measured")});
    else if (std::fabs(last->cycles.value - counted) > 0.25 * std::max(last->cycles.value, counted))
      p_.disagreements.push_back(
          fmt::format("walk, {}, {} pages: measured {:.0f} cycles by latency, {:.0f} by the PMU",
                      size_text(last->page_bytes), last->pages, last->cycles.value, counted));
  }

  const ProfileSources &s_;
  MachineProfile p_;
};

// A difference is significant above both.
struct Tolerance {
  double share, least;
};

void compare(std::vector<Difference> &list, std::string what, const Number &a, const Number &b,
             Tolerance within) {
  if (!a.value || !b.value || a.source != "measured" || b.source != "measured")
    return;
  const double apart = std::fabs(*a.value - *b.value);
  list.push_back({std::move(what), *a.value, *b.value,
                  apart > std::max(within.least, within.share * std::max(*a.value, *b.value))});
}

} // namespace

MachineProfile build_profile(const ProfileSources &sources) { return Builder(sources).build(); }

std::vector<Difference> compare_profiles(const MachineProfile &stored, const MachineProfile &now) {
  std::vector<Difference> list;
  for (const format::TlbLevel &a : stored.tlb)
    for (const format::TlbLevel &b : now.tlb)
      if (a.level == b.level && a.page_bytes.front() == b.page_bytes.front())
        compare(list,
                fmt::format("TLB level {}, {}: entries", a.level, size_text(a.page_bytes.front())),
                a.entries, b.entries, {a.level == 1 ? 0 : 0.1, 2});
  compare(list, "reach: pages", stored.reach_pages, now.reach_pages, {0.1, 2});
  compare(list, "backing: bytes", stored.backing_page_bytes, now.backing_page_bytes, {0, 0});
  compare(list, "second-level hit: cycles", stored.l2_hit_cycles, now.l2_hit_cycles, {0.25, 2});
  const auto walks = [&](const char *what, const std::vector<format::WalkCost> &first,
                         const std::vector<format::WalkCost> &second, double least) {
    for (const format::WalkCost &a : first)
      for (const format::WalkCost &b : second)
        if (a.page_bytes == b.page_bytes && a.pages == b.pages)
          compare(list,
                  fmt::format("{}, {}, {} pages: cycles", what, size_text(a.page_bytes),
                              a.pages.value_or(0)),
                  a.cycles, b.cycles, {0.25, least});
  };
  walks("walk", stored.walk_cost, now.walk_cost, 2);
  walks("overlapped walk", stored.overlapped_walk_cost, now.overlapped_walk_cost, 8);
  walks("overlapped walk near data", stored.overlapped_near_walk_cost,
        now.overlapped_near_walk_cost, 8);
  const auto per_page = [&](const char *what, const std::vector<format::PerPage> &first,
                            const std::vector<format::PerPage> &second) {
    for (const format::PerPage &a : first)
      for (const format::PerPage &b : second)
        if (a.page_bytes == b.page_bytes)
          compare(list, fmt::format("{}, {}", what, size_text(a.page_bytes)), a.value, b.value,
                  {0.5, 0});
  };
  per_page("first touch: ns", stored.first_touch_ns, now.first_touch_ns);
  per_page("bandwidth: bytes/s", stored.bandwidth_bytes_per_second, now.bandwidth_bytes_per_second);
  compare(list, "read before written: ns", stored.read_first_ns, now.read_first_ns, {0.5, 0});
  compare(list, "collapse: ns", stored.collapse_ns, now.collapse_ns, {0.5, 0});
  return list;
}

} // namespace smalloc::calibrate
