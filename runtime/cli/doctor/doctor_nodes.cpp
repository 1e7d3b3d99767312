// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// doctor_nodes.cpp checks memory beyond one pool and one limit: pools of each NUMA node, the
// kernel's own page migration, limits of cgroup v1, and what backs a guest's superpages, if smalloc
// calibrate has measured it.
#include "runtime/cli/doctor/doctor.h"
#include "runtime/cli/machine/profile_store.h"
#include "runtime/cli/sites/site_report.h"
#include "runtime/errors/diagnostics.h"
#include "runtime/measure/memory_room.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace smalloc::cli {
namespace {

using Json = nlohmann::ordered_json;

const std::string kNodes = "/sys/devices/system/node";

// Checks the pools of each node: a pool on one node is remote memory for threads on other nodes.
void check_node_pools(const SystemView &system, Checks &checks) {
  const auto nodes = node_names(system);
  if (nodes.size() < 2)
    return;
  for (const HugetlbPool &pool : hugetlb_pools(system)) {
    Json value = Json::array();
    std::string text, empty;
    uint64_t total = 0;
    for (const std::string &node : nodes) {
      const std::string folder =
          fmt::format("{}/{}/hugepages/hugepages-{}kB/", kNodes, node, pool.page_bytes >> 10);
      const uint64_t all = system.read_number(folder + "nr_hugepages").value_or(0),
                     free = system.read_number(folder + "free_hugepages").value_or(0);
      value.push_back(Json{{"node", node}, {"free", free}, {"total", all}});
      text += fmt::format("{}{} {} of {}", text.empty() ? "" : ", ", node, free, all);
      total += all;
      if (all == 0 && empty.empty())
        empty = folder;
    }
    const bool uneven = total > 0 && !empty.empty();
    checks.push_back(
        {fmt::format("hugetlb-{}k-nodes", pool.page_bytes >> 10),
         uneven ? Verdict::kWarn : Verdict::kOk, value,
         fmt::format("hugetlb pool of {} by node, free: {}{}", readable_bytes(pool.page_bytes),
                     text, uneven ? " (a node has none)" : ""),
         uneven ? fmt::format("echo {} > {}nr_hugepages",
                              std::max<uint64_t>(total / nodes.size(), 1), empty)
                : ""});
  }
}

void check_balancing(const SystemView &system, Checks &checks) {
  const auto mode = system.read_number("/proc/sys/kernel/numa_balancing");
  if (!mode)
    return;
  // NUMA balancing unmaps pages to see which processor uses them, and may split superpages to move
  // a part.
  const bool matters = *mode != 0 && node_names(system).size() > 1;
  checks.push_back({"numa-balancing", matters ? Verdict::kWarn : Verdict::kOk, *mode,
                    fmt::format("automatic NUMA balancing: {}{}", *mode ? "on" : "off",
                                matters ? " (it works against smalloc's own placement)" : ""),
                    matters ? "sysctl -w kernel.numa_balancing=0" : ""});
}

// Checks the limits of cgroup v1; the tightest of the cgroup and its ancestors counts.
void check_cgroup_v1(const SystemView &system, Checks &checks) {
  const std::string membership = system.read("/proc/self/cgroup").value_or("");
  // Returns the least limit and its file.
  const auto tightest = [&](const char *controller, const std::string &name) {
    std::pair<std::optional<uint64_t>, std::string> least;
    for (const std::string &folder : calibrate::cgroup_folders(membership, controller))
      if (const auto limit = system.read_number(folder + "/" + name);
          limit && *limit < least.first.value_or(UINT64_MAX))
        least = {limit, folder + "/" + name};
    return least;
  };
  // v1 writes "no limit" as the largest multiple of a page.
  if (const auto limit = tightest("memory", "memory.limit_in_bytes").first)
    checks.push_back({"cgroup-v1-memory", Verdict::kOk, *limit >> 60 ? Json() : Json(*limit),
                      *limit >> 60 ? std::string("cgroup v1: no memory limit")
                                   : "cgroup v1 memory limit: " + readable_bytes(*limit),
                      ""});
  for (const char *size : {"2MB", "1GB"})
    if (const auto [limit, file] =
            tightest("hugetlb", fmt::format("hugetlb.{}.limit_in_bytes", size));
        limit && !(*limit >> 60))
      checks.push_back(
          {fmt::format("cgroup-v1-hugetlb-{}", size), Verdict::kWarn, *limit,
           fmt::format("cgroup v1 limit of {} hugetlb pages: {}", size, readable_bytes(*limit)),
           fmt::format("echo -1 > {}", file)});
}

void check_backing(const SystemView &system, Checks &checks) {
  if (!system.real())
    return;
  try {
    const std::string path = stored_profile_path();
    if (access(path.c_str(), R_OK) != 0) {
      checks.push_back({"backing", Verdict::kOk, nullptr,
                        "backing of superpages: not measured yet (smalloc calibrate does)", ""});
      return;
    }
    const format::MachineProfile profile = load_profile("stored");
    const auto backing = profile.backing_page_bytes.value;
    const bool small = backing && *backing < (2 << 20);
    checks.push_back(
        {"backing", small ? Verdict::kWarn : Verdict::kOk,
         backing ? Json(static_cast<uint64_t>(*backing)) : Json(),
         backing
             ? fmt::format("superpages are backed by {} pages{}",
                           readable_bytes(static_cast<uint64_t>(*backing)),
                           small ? ": they shorten walks, and do not extend the TLB's reach" : "")
             : std::string("backing of superpages: calibrated, and unknown"),
         small ? "# on the host: back the guest with 2 MiB pages" : ""});
  } catch (const Failure &failure) {
    checks.push_back(
        {"backing", Verdict::kWarn, nullptr,
         fmt::format("the calibrated profile cannot be used ({}): {}", failure.which, failure.why),
         "smalloc calibrate"});
  }
}

} // namespace

std::vector<std::string> node_names(const SystemView &system) {
  std::vector<std::string> names;
  for (const std::string &entry : system.list(kNodes))
    if (entry.size() > 4 && entry.starts_with("node") &&
        std::all_of(entry.begin() + 4, entry.end(), [](char c) { return c >= '0' && c <= '9'; }))
      names.push_back(entry);
  return names;
}

void check_nodes(const SystemView &system, Checks &checks) {
  check_node_pools(system, checks);
  check_balancing(system, checks);
  check_cgroup_v1(system, checks);
  check_backing(system, checks);
}

} // namespace smalloc::cli
