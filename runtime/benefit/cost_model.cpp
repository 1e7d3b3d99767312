// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cost_model.cpp reads the costs from a machine profile and replaces missing numbers: the frequency
// by 3 GHz, the superpages' walk by that of base pages, a first touch by a line or a guess.
#include "runtime/benefit/cost_model.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace smalloc::benefit {
namespace {

constexpr double kUnknownHz = 3e9;
constexpr double kUnknownWalkCycles = 30;
constexpr double kClearNsPerByte = 0.25, kFaultNs = 500;

bool lists(const format::TlbLevel &level, uint64_t page_bytes) {
  return std::find(level.page_bytes.begin(), level.page_bytes.end(), page_bytes) !=
         level.page_bytes.end();
}

std::optional<double> measured(const std::vector<format::PerPage> &figures, uint64_t page_bytes) {
  std::optional<double> found;
  for (const format::PerPage &figure : figures)
    if (figure.page_bytes == page_bytes && figure.value.value)
      found = figure.value.value;
  return found;
}

} // namespace

format::MachineProfile without_sets(format::MachineProfile machine) {
  for (format::TlbLevel &level : machine.tlb) {
    const double ways = level.ways.value.value_or(0);
    if (level.entries.value && ways > 1)
      level.entries.value = *level.entries.value * (ways - 1) / ways;
    if (ways > 0)
      level.ways.value = 0;
  }
  return machine;
}

CostModel::CostModel(const format::MachineProfile &profile)
    : profile_(profile), frequency_hz_(profile.frequency_hz.value_or(kUnknownHz)) {
  std::array<const format::TlbLevel *, kPageSizes> last{};
  for (size_t i = 0; i < kPageSizes; i++) {
    const auto size = static_cast<PageSize>(i);
    owners_[i] = size;
    // Machines with base pages of 64 KiB have no medium size.
    if (size == PageSize::kMedium && profile.base_page_bytes != kBasePageBytes)
      continue;
    for (const format::TlbLevel &level : profile.tlb)
      if (level.entries.value.value_or(0) >= 1 && lists(level, page_bytes(size)) &&
          (!last[i] || level.level >= last[i]->level))
        last[i] = &level;
    if (!last[i])
      continue;
    arrays_[i] = {static_cast<uint64_t>(*last[i]->entries.value),
                  static_cast<uint64_t>(last[i]->ways.value.value_or(0))};
    for (size_t smaller = i; last[i]->shared && smaller-- > 0;)
      if (last[smaller] == last[i])
        owners_[i] = static_cast<PageSize>(smaller);
  }
  if (!has(PageSize::kBase))
    arrays_[static_cast<size_t>(PageSize::kBase)] = {std::max<uint64_t>(profile.reach(), 1), 0};
  if (!has(PageSize::kSuper))
    arrays_[static_cast<size_t>(PageSize::kSuper)] = {32, 0};
  // Ways that do not divide the entries cannot be modelled as sets.
  for (TlbArray &array : arrays_)
    if (array.ways && array.entries % array.ways)
      array.ways = 0;
}

WalkCurve::WalkCurve(Points points) : points_(std::move(points)) {
  if (points_.empty())
    points_.emplace_back(1, kUnknownWalkCycles);
  std::sort(points_.begin(), points_.end());
}

double WalkCurve::at(double pages) const {
  if (pages <= points_.front().first)
    return points_.front().second;
  for (size_t i = 1; i < points_.size(); i++) {
    const auto &[low, low_cycles] = points_[i - 1];
    const auto &[high, high_cycles] = points_[i];
    if (pages < high)
      return low_cycles + (high_cycles - low_cycles) * std::log(pages / low) / std::log(high / low);
  }
  return points_.back().second;
}

double WalkCurve::at_distance(double distance, double deviation) const {
  // Points that lie close together differ by noise, and so do those between which the cost grows
  // fast.
  constexpr double kLeastApart = 1.5, kMostGrowth = 1.5;
  const double here = at(distance);
  if (distance < points_.front().first || points_.size() < 2)
    return here;
  size_t next = 1;
  while (next + 1 < points_.size() && distance >= points_[next].first)
    next++;
  const auto &[low, low_cycles] = points_[next - 1];
  const auto &[high, high_cycles] = points_[next];
  if (high < kLeastApart * low)
    return here;
  const double growth =
      std::clamp(deviation, 0.0, 1.0) * (high_cycles - low_cycles) / std::log(high / low);
  if (distance < high)
    return std::max(here + growth, 0.0);
  return std::min(here + std::max(growth, 0.0), kMostGrowth * here);
}

/// True if the measured difference includes the misses of superpages themselves
/// (runtime/measure/geometry.cpp). A PMU's count, which belongs to no number of pages, is of whole
/// walks, and so are the presets' figures.
bool CostModel::superpages_are_counted(const std::vector<format::WalkCost> &curve) const {
  return profile_.backing_page_bytes.value.value_or(kSuperpageBytes) < kSuperpageBytes &&
         !curve.empty() &&
         std::all_of(
             curve.begin(), curve.end(),
             [](const auto &cost) {
               return cost.page_bytes != kBasePageBytes ||
                      (cost.pages && cost.cycles.source == "measured");
             });
}

WalkCurve CostModel::walk_curve(uint64_t page_bytes, Walk walk) const {
  if (walk >= Walk::kSequential)
    if (const auto cycles = crossing_cycles(page_bytes))
      return WalkCurve({{1, *cycles / static_cast<double>(streams_of(walk))}});
  const std::vector<format::WalkCost> &curve =
      walk == Walk::kNear && knows_near()           ? profile_.overlapped_near_walk_cost
      : walk != Walk::kWaited && knows_overlapped() ? profile_.overlapped_walk_cost
                                                    : profile_.walk_cost;
  const auto of = [&](uint64_t size) {
    WalkCurve::Points points;
    std::vector<double> nowhere; // costs that belong to no number of pages
    for (const format::WalkCost &cost : curve)
      if (cost.page_bytes == size && cost.cycles.value) {
        if (cost.pages)
          points.emplace_back(static_cast<double>(*cost.pages), *cost.cycles.value);
        else
          nowhere.push_back(*cost.cycles.value);
      }
    if (points.empty() && !nowhere.empty()) { // two ends of a curve (docs/reference.md)
      const auto [least, most] = std::minmax_element(nowhere.begin(), nowhere.end());
      points = {{1 << 16, *least}, {1 << 22, *most}};
    }
    return points;
  };
  WalkCurve::Points points = of(page_bytes);
  if (points.empty() && page_bytes >= kSuperpageBytes && superpages_are_counted(curve))
    points.emplace_back(1, 0);
  return WalkCurve(points.empty() ? of(kBasePageBytes) : std::move(points));
}

std::optional<double> CostModel::crossing_cycles(uint64_t page_bytes) const {
  const auto page = measured(profile_.bandwidth_bytes_per_second, page_bytes),
             superpage = measured(profile_.bandwidth_bytes_per_second, kSuperpageBytes);
  if (!page || !superpage || *page <= 0 || *superpage <= 0)
    return std::nullopt;
  if (page_bytes >= kSuperpageBytes)
    return 0; // noise, a thousand times what it is of a base page
  return std::max(1 / *page - 1 / *superpage, 0.0) * static_cast<double>(page_bytes) *
         frequency_hz_;
}

double CostModel::fault_cycles(uint64_t page_bytes) const {
  double ns = kFaultNs + kClearNsPerByte * static_cast<double>(page_bytes);
  const auto small = measured(profile_.first_touch_ns, kBasePageBytes),
             large = measured(profile_.first_touch_ns, kSuperpageBytes);
  if (const auto own = measured(profile_.first_touch_ns, page_bytes))
    ns = *own;
  else if (small && large && *large >= *small)
    ns = *small + (*large - *small) * (static_cast<double>(page_bytes) - kBasePageBytes) /
                      static_cast<double>(kSuperpageBytes - kBasePageBytes);
  return ns * frequency_hz_ / 1e9;
}

double CostModel::second_fault_cycles() const {
  return profile_.read_first_ns.value.value_or(kFaultNs) * frequency_hz_ / 1e9;
}

} // namespace smalloc::benefit
