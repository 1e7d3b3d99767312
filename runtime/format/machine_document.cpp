// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// machine_document.cpp writes presets and measured profiles in the form of machine files.
#include "runtime/format/machine_json.h"

#include <cmath>

#include <nlohmann/json.hpp>

namespace smalloc::format {
namespace {

using Json = nlohmann::ordered_json;

template <typename T> Json optional_json(const std::optional<T> &value) {
  return value ? Json(*value) : Json();
}

// Prints 2048.0 as 2048: entries and pages are counts.
Json plain(const std::optional<double> &value) {
  if (!value)
    return Json();
  if (*value == std::floor(*value) && std::fabs(*value) < 9e15)
    return Json(static_cast<int64_t>(*value));
  return Json(*value);
}

Json number_json(const Number &n) {
  return Json{{"value", plain(n.value)},
              {"low", plain(n.low)},
              {"high", plain(n.high)},
              {"source", n.source}};
}

Json walks_json(const std::vector<WalkCost> &list) {
  Json result = Json::array();
  for (const WalkCost &cost : list)
    result.push_back(Json{{"page_bytes", cost.page_bytes},
                          {"pages", optional_json(cost.pages)},
                          {"cycles", number_json(cost.cycles)}});
  return result;
}

Json per_page_json(const std::vector<PerPage> &list) {
  Json result = Json::array();
  for (const PerPage &p : list)
    result.push_back(Json{{"page_bytes", p.page_bytes}, {"value", number_json(p.value)}});
  return result;
}

Json level_json(const TlbLevel &level) {
  Json result{{"level", level.level},
              {"kind", "data"},
              {"page_bytes", level.page_bytes},
              {"entries", number_json(level.entries)},
              {"ways", number_json(level.ways)},
              {"shared", level.shared}};
  if (!level.index.empty())
    result["index"] = level.index;
  return result;
}

Number preset_number(double value) { return {value, std::nullopt, std::nullopt, "preset"}; }

void add_preset_level(std::vector<TlbLevel> &tlb, unsigned number, uint64_t base_page_bytes,
                      const struct smalloc_tlb_level &level, bool shared) {
  const auto add = [&](std::vector<uint64_t> page_bytes, uint32_t entries, uint32_t ways) {
    const bool several = page_bytes.size() > 1;
    if (entries)
      tlb.push_back({number, std::move(page_bytes), preset_number(entries), preset_number(ways),
                     several, ""});
  };
  if (shared) {
    add({base_page_bytes, 2u << 20}, level.entries_4k, level.ways_4k);
  } else {
    add({base_page_bytes}, level.entries_4k, level.ways_4k);
    add({2u << 20}, level.entries_2m, level.ways_2m);
  }
  add({1u << 30}, level.entries_1g, level.ways_1g);
}

} // namespace

MachineProfile profile_of_preset(const struct smalloc_machine &preset) {
  MachineProfile p;
  p.name = preset.name;
  constexpr const char *vendors[] = {"",    "AMD",      "Intel", "Arm", "Fujitsu",
                                     "APM", "Qualcomm", "Apple", "IBM"};
  if (preset.vendor < std::size(vendors))
    p.vendor = vendors[preset.vendor];
  if (preset.vendor == SMALLOC_VENDOR_AMD || preset.vendor == SMALLOC_VENDOR_INTEL) {
    p.family = preset.family;
    p.model = preset.models[0].low;
  }
  p.base_page_bytes = preset.base_page_bytes;
  add_preset_level(p.tlb, 1, preset.base_page_bytes, preset.l1, false);
  add_preset_level(p.tlb, 2, preset.base_page_bytes, preset.l2, smalloc_machine_shares_l2(&preset));
  p.reach_pages = preset_number(smalloc_machine_reach_pages(&preset));
  if (preset.l2.entries_4k)
    p.l2_hit_cycles = preset_number(preset.l2_hit_cycles);
  // The two ends of the curve, at the page counts that the plugin uses for them: 256 MiB and 16 GiB
  // of 4 KiB pages.
  p.walk_cost = {{preset.base_page_bytes, 1u << 16, preset_number(preset.walk_near_cycles)},
                 {preset.base_page_bytes, 1u << 22, preset_number(preset.walk_far_cycles)}};
  p.prefetch_max_stride_bytes = preset_number(preset.prefetch_max_stride_bytes);
  return p;
}

Json machine_document(const MachineProfile &p) {
  Json tlb = Json::array();
  for (const TlbLevel &level : p.tlb)
    tlb.push_back(level_json(level));
  return Json{
      {"schema", kMachineSchema},
      {"name", p.name},
      {"cpu", Json{{"vendor", p.vendor.empty() ? Json() : Json(p.vendor)},
                   {"family", optional_json(p.family)},
                   {"model", optional_json(p.model)},
                   {"midr", optional_json(p.midr)}}},
      {"hypervisor", optional_json(p.hypervisor)},
      {"frequency_hz", optional_json(p.frequency_hz)},
      {"base_page_bytes", p.base_page_bytes},
      {"backing_page_bytes", number_json(p.backing_page_bytes)},
      {"tlb", tlb},
      {"reach_pages", number_json(p.reach_pages)},
      {"l2_hit_cycles", number_json(p.l2_hit_cycles)},
      {"walk_cost", walks_json(p.walk_cost)},
      {"overlapped_walk_cost", walks_json(p.overlapped_walk_cost)},
      {"overlapped_near_walk_cost", walks_json(p.overlapped_near_walk_cost)},
      {"first_touch_ns", per_page_json(p.first_touch_ns)},
      {"read_first_ns", number_json(p.read_first_ns)},
      {"collapse_ns", number_json(p.collapse_ns)},
      {"bandwidth_bytes_per_second", per_page_json(p.bandwidth_bytes_per_second)},
      {"prefetch", Json{{"max_stride_bytes", number_json(p.prefetch_max_stride_bytes)},
                        {"crosses_page", optional_json(p.prefetch_crosses_page)}}},
      {"disagreements", p.disagreements},
  };
}

} // namespace smalloc::format
