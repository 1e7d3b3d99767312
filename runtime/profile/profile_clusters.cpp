// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// profile_clusters.cpp selects the sites that may be joined: the kMostClustered with the most
// accesses. A cluster's id is a hash of its sites, so that the same sites are the same cluster
// again.
#include "runtime/profile/profile_clusters.h"
#include "runtime/benefit/clusters.h"
#include "runtime/profile/trace_follower.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace smalloc::cli {
namespace {

using benefit::CategoryKind;

constexpr size_t kMostClustered = 256; // sites: a similarity is counted for each pair
constexpr double kLeastWindow = 64;    // runs of accesses

// Returns the sites with the most accesses. The rest is hardly accessed, and stays apart.
std::vector<CategoryKey> candidates(const Survey &survey) {
  std::vector<CategoryKey> sites;
  for (const auto &[key, total] : survey.totals)
    if (std::get<0>(key) == CategoryKind::kSite && total.accesses > 0)
      sites.push_back(key);
  std::stable_sort(sites.begin(), sites.end(), [&](const CategoryKey &a, const CategoryKey &b) {
    return survey.totals.at(a).accesses > survey.totals.at(b).accesses;
  });
  if (sites.size() > kMostClustered)
    sites.resize(kMostClustered);
  return sites;
}

benefit::Affinity affinity_of(const Survey &survey, const std::vector<CategoryKey> &sites,
                              uint64_t reach_pages) {
  benefit::Affinity affinity(sites.size());
  for (size_t t = 0; t < survey.paths.size(); t++) {
    const std::vector<CategoryKey> &numbers = survey.numbers[t];
    std::vector<size_t> members(numbers.size(), SIZE_MAX);
    for (size_t i = 0; i < members.size(); i++)
      if (const auto at = std::find(sites.begin(), sites.end(), numbers[i]); at != sites.end())
        members[i] = static_cast<size_t>(at - sites.begin());
    const double reach = static_cast<double>(reach_pages) * survey.traces[t].rate;
    const auto window = static_cast<size_t>(std::max(reach, kLeastWindow));
    size_t runs = 0;
    const auto reader = open_trace(survey.paths[t]);
    TraceFollower follower(
        survey.objects(), true, reader->limits(),
        [&](uint64_t, benefit::Objects::Place place, uint64_t repeats, bool, uint64_t) {
          if (place.category < members.size() && members[place.category] != SIZE_MAX)
            affinity.access(members[place.category], survey.scaled(t, repeats));
          if (++runs % window == 0)
            affinity.end_window();
        });
    survey.read_inherited(t, [&](const trace::Event &e) { follower.inherit(e); });
    survey.read(*reader, t, "clustering", [&](const trace::Event &e) { follower.event(e); });
    affinity.end_window();
  }
  return affinity;
}

// Returns a cluster's id, the same for the same sites.
uint64_t id_of(const std::vector<CategoryKey> &keys) {
  std::string ids;
  for (const CategoryKey &key : std::set<CategoryKey>(keys.begin(), keys.end()))
    ids += fmt::format("{:016x}", std::get<1>(key));
  return segment_id(ids);
}

} // namespace

void cluster(Survey &survey, const benefit::CostModel &costs) {
  const std::vector<CategoryKey> sites = candidates(survey);
  const benefit::Affinity affinity = affinity_of(survey, sites, costs.base().entries);
  std::vector<double> bytes;
  std::vector<int> apart; // separates sites that directives can reach from the others
  for (const CategoryKey &key : sites) {
    bytes.push_back(static_cast<double>(survey.totals[key].peak_bytes));
    apart.push_back(survey.names[key].steerable);
  }
  const std::vector<size_t> numbers = benefit::clusters_of(affinity, bytes, apart);
  std::map<size_t, std::vector<CategoryKey>> joined;
  for (size_t i = 0; i < sites.size(); i++)
    joined[numbers[i]].push_back(sites[i]);
  for (const auto &[number, keys] : joined) {
    if (keys.size() == 1)
      continue;
    const uint64_t id = id_of(keys);
    for (const CategoryKey &key : keys) {
      const SiteName &name = survey.names[key];
      const CategoryTotal &total = survey.totals[key];
      survey.clusters[std::get<1>(key)] = id;
      survey.members[id].push_back({std::get<1>(key), name.function, name.file, name.line,
                                    name.steerable, total.accesses, total.heap_bytes});
    }
  }
  survey.recount();
}

} // namespace smalloc::cli
