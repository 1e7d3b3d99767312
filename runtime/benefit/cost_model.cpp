// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cost_model.cpp decides what stands in for a number that the profile does not have: 3 GHz, the base pages'
// walk for superpages, a guess for first touch.
#include "runtime/benefit/cost_model.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace smalloc::benefit {
namespace {

constexpr double kUnknownHz = 3e9;
constexpr double kClearNsPerByte = 0.25, kFaultNs = 500;

bool has(const format::TlbLevel &level, uint64_t page_bytes) {
  return std::find(level.page_bytes.begin(), level.page_bytes.end(), page_bytes) !=
         level.page_bytes.end();
}

} // namespace

CostModel::CostModel(const format::MachineProfile &profile)
    : profile_(profile), frequency_hz_(profile.frequency_hz.value_or(kUnknownHz)) {
  unsigned base_level = 0, superpage_level = 0;
  for (const format::TlbLevel &level : profile.tlb) {
    const TlbArray array = {static_cast<uint64_t>(level.entries.value.value_or(0)),
                            static_cast<uint64_t>(level.ways.value.value_or(0))};
    if (array.entries == 0)
      continue;
    if (has(level, kBasePageBytes) && level.level >= base_level) {
      base_ = array;
      base_level = level.level;
      shared_ = level.shared && has(level, kSuperpageBytes);
    }
    if (has(level, kSuperpageBytes) && level.level >= superpage_level) {
      superpage_ = array;
      superpage_level = level.level;
    }
  }
  if (base_.entries == 0)
    base_ = {std::max<uint64_t>(profile.reach(), 1), 0};
  if (superpage_.entries == 0)
    superpage_ = {32, 0};
  // Ways that do not divide the entries cannot be modelled as sets.
  for (TlbArray *array : {&base_, &superpage_})
    if (array->ways && array->entries % array->ways)
      array->ways = 0;
}

double CostModel::miss_cycles(uint64_t page_bytes, double pages) const {
  std::vector<std::pair<double, double>> points; // pages, cycles
  const auto collect = [&](uint64_t size) {
    for (const format::WalkCost &cost : profile_.walk_cost)
      if (cost.page_bytes == size && cost.cycles.value)
        points.emplace_back(static_cast<double>(cost.pages.value_or(1)), *cost.cycles.value);
  };
  collect(page_bytes);
  if (points.empty())
    collect(kBasePageBytes);
  if (points.empty())
    return 30;
  std::sort(points.begin(), points.end());
  if (pages <= points.front().first)
    return points.front().second;
  for (size_t i = 1; i < points.size(); i++) {
    const auto &[low, low_cycles] = points[i - 1];
    const auto &[high, high_cycles] = points[i];
    if (pages < high)
      return low_cycles + (high_cycles - low_cycles) * std::log(pages / low) / std::log(high / low);
  }
  return points.back().second;
}

double CostModel::fault_cycles(uint64_t page_bytes) const {
  double ns = kFaultNs + kClearNsPerByte * static_cast<double>(page_bytes);
  for (const format::PerPage &touch : profile_.first_touch_ns)
    if (touch.page_bytes == page_bytes && touch.value.value)
      ns = *touch.value.value;
  return ns * frequency_hz_ / 1e9;
}

} // namespace smalloc::benefit
