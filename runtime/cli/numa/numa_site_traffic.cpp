// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// numa_site_traffic.cpp keeps the transactions of an interval by page and category until the
// interval ends and each page's node is known. Of earlier intervals it keeps the sums by category,
// and the node of each page's first touch.
#include "runtime/cli/numa/numa_site_traffic.h"

#include "runtime/profile/trace_follower.h"
#include "smalloc/base/units.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace smalloc::cli {
namespace {

using Json = nlohmann::ordered_json;
using benefit::CategoryKind;

constexpr unsigned kCategoryBits = 20;
constexpr uint32_t kNobody = (1u << kCategoryBits) - 1;

} // namespace

void NumaSiteTraffic::compare_with(const numa::Simulator &simulator, size_t scheme) {
  scheme_ = scheme;
  foresees_ = simulator.scheme(scheme).source == numa::Source::kPerfect;
  nodes_ = simulator.nodes();
}

void NumaSiteTraffic::event(const trace::Event &e) {
  switch (e.type) {
  case trace::Type::kSite: {
    const size_t newline = std::min(e.text.find('\n'), e.text.size());
    std::string name(e.text.substr(0, newline));
    if (newline < e.text.size()) {
      const std::string_view place = e.text.substr(newline + 1);
      name += " " + std::string(place.substr(0, place.find('\n')));
    }
    names_[{CategoryKind::kSite, e.site}] =
        e.kind == trace::kCompilerSite ? name : fmt::format("{}+{:#x}", name, e.offset);
    break;
  }
  case trace::Type::kSegment:
    names_[{CategoryKind::kStatic, segment_id(e.text)}] = "static data of " + std::string(e.text);
    objects_.segment(segment_id(e.text), e.address, e.bytes);
    break;
  case trace::Type::kReallocate:
    objects_.reallocate(e.old_address, e.site, e.address, e.bytes);
    break;
  case trace::Type::kAllocate:
    objects_.allocate(e.site, e.address, e.bytes);
    break;
  case trace::Type::kFree:
    objects_.free(e.address);
    break;
  default:
    break;
  }
}

void NumaSiteTraffic::transaction(uint64_t address, uint8_t node) {
  const uint64_t page = address / kBasePageBytes;
  const uint32_t category = std::min(objects_.find(address).category, kNobody);
  first_node_.try_emplace(page, node);
  Counts &counts = interval_[page << kCategoryBits | category];
  if (counts.empty())
    counts.resize(nodes_);
  counts[node]++;
}

uint64_t NumaSiteTraffic::remote_of(const numa::Simulator &simulator, size_t scheme, uint64_t page,
                                    const Counts &counts) const {
  uint8_t home = simulator.home(scheme, page * kBasePageBytes);
  if (home == numa::kNoNode)
    home = first_node_.at(page);
  uint64_t sum = 0;
  for (unsigned n = 0; n < nodes_; n++)
    sum += n == home ? 0 : counts[n];
  return sum;
}

void NumaSiteTraffic::interval_ends(const numa::Simulator &simulator) {
  for (const auto &[key, counts] : interval_) {
    const uint64_t page = key >> kCategoryBits;
    const uint32_t category = static_cast<uint32_t>(key) & kNobody;
    const size_t index = category == kNobody ? 0 : category + 1;
    if (traffic_.size() <= index)
      traffic_.resize(index + 1);
    Traffic &t = traffic_[index];
    t.by_node.resize(nodes_);
    for (unsigned n = 0; n < nodes_; n++)
      t.by_node[n] += counts[n];
    t.remote += remote_of(simulator, 0, page, counts);
    if (!foresees_)
      t.remote_moved += remote_of(simulator, scheme_, page, counts);
  }
}

void NumaSiteTraffic::interval_ended(const numa::Simulator &simulator) {
  if (foresees_)
    for (const auto &[key, counts] : interval_) {
      const uint32_t category = static_cast<uint32_t>(key) & kNobody;
      traffic_[category == kNobody ? 0 : category + 1].remote_moved +=
          remote_of(simulator, scheme_, key >> kCategoryBits, counts);
    }
  interval_.clear();
}

Json NumaSiteTraffic::document() const {
  struct Row {
    uint64_t remote, id;
    Json json;
  };
  std::vector<Row> rows;
  // Skip categories without a transaction; the vectors grow with the objects that were found.
  const auto &categories = objects_.categories();
  for (size_t i = 0; i < traffic_.size() && !categories.empty(); i++) {
    const Traffic &t = traffic_[i];
    uint64_t all = 0;
    for (uint64_t n : t.by_node)
      all += n;
    if (all == 0)
      continue;
    const bool nobody = i == 0;
    const benefit::Category c = nobody ? benefit::Category() : categories[i - 1];
    const auto name = names_.find({c.kind, c.id});
    const auto percent = [&](uint64_t n) {
      return 100 * static_cast<double>(n) / static_cast<double>(all);
    };
    const bool site = !nobody && c.kind == CategoryKind::kSite;
    rows.push_back({t.remote, c.id,
                    Json{{"id", site ? Json(fmt::format("{:016x}", c.id)) : Json()},
                         {"name", nobody ? "stack, and objects from before the recording"
                                  : name == names_.end() ? fmt::format("{:016x}", c.id)
                                                         : name->second},
                         {"peak_bytes", nobody ? Json() : Json(c.peak_bytes)},
                         {"transactions", all},
                         {"transactions_by_node", t.by_node},
                         {"remote_percent_first_touch", percent(t.remote)},
                         {"remote_percent", percent(t.remote_moved)}}});
  }
  std::sort(rows.begin(), rows.end(), [](const Row &a, const Row &b) {
    return a.remote != b.remote ? a.remote > b.remote : a.id < b.id;
  });
  Json sites = Json::array();
  for (Row &row : rows)
    sites.push_back(std::move(row.json));
  return sites;
}

} // namespace smalloc::cli
