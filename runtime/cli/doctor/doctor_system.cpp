// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// doctor_system.cpp checks the limits and properties of the machine that matter to superpages.
#include "runtime/cli/doctor/doctor.h"
#include "runtime/cli/sites/site_report.h"
#include "runtime/measure/memory_room.h"

#include "smalloc/machine.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <sys/resource.h>

namespace smalloc::cli {
namespace {

using Json = nlohmann::ordered_json;

// Linux's default of vm.max_map_count. Each border between base pages and superpages may be a
// mapping of its own; libsmalloc uses at most an eighth of the limit.
constexpr uint64_t kUsualMappings = 65530;

struct Limit {
  const char *name, *what;
  int resource;
  const char *fix; // empty: no warning
};

void check_limit(const Limit &asked, Checks &checks) {
  struct rlimit limit;
  if (getrlimit(static_cast<__rlimit_resource_t>(asked.resource), &limit) != 0)
    return;
  const bool unlimited = limit.rlim_cur == RLIM_INFINITY;
  const bool warn = !unlimited && *asked.fix;
  checks.push_back(
      {asked.name, warn ? Verdict::kWarn : Verdict::kOk, unlimited ? Json() : Json(limit.rlim_cur),
       fmt::format("{}: {}{}", asked.what, unlimited ? "unlimited" : readable_bytes(limit.rlim_cur),
                   warn ? " (libsmalloc reserves address space)" : ""),
       warn ? asked.fix : ""});
}

void check_cgroup(const SystemView &system, Checks &checks) {
  if (!system.exists("/sys/fs/cgroup/cgroup.controllers")) {
    checks.push_back(
        {"cgroup", Verdict::kOk, nullptr, "no cgroup v2: no memory limit from there", ""});
    return;
  }
  auto folders = calibrate::cgroup_folders(system.read("/proc/self/cgroup").value_or(""), "");
  if (folders.empty())
    folders.emplace_back("/sys/fs/cgroup");
  std::optional<uint64_t> limit;
  for (const std::string &folder : folders)
    if (const auto bytes = system.read_number(folder + "/memory.max")) // "max" is no number
      limit = std::min(limit.value_or(UINT64_MAX), *bytes);
  checks.push_back({"cgroup-memory", Verdict::kOk, limit ? Json(*limit) : Json(),
                    limit ? fmt::format("cgroup memory limit: {}", readable_bytes(*limit))
                          : std::string("cgroup: no memory limit"),
                    ""});
  const std::string &folder = folders.front();
  for (const char *size : {"2MB", "1GB"}) {
    const std::string file = fmt::format("{}/hugetlb.{}.max", folder, size);
    if (const auto most = system.read_number(file))
      checks.push_back(
          {fmt::format("cgroup-hugetlb-{}", size), Verdict::kWarn, *most,
           fmt::format("cgroup limit of {} hugetlb pages: {}", size, readable_bytes(*most)),
           fmt::format("echo max > {}", file)});
  }
}

void check_pmu(const SystemView &system, Checks &checks) {
  // Each kind of core has a device: cpu, cpu_core, cpu_atom, armv8_pmuv3_0, armv8_cortex_a76,
  // apple_icestorm_pmu ...
  bool present = false;
  for (const std::string &device : system.list("/sys/bus/event_source/devices"))
    present |= device == "cpu" || device.starts_with("cpu_") || device.starts_with("armv8_") ||
               device.starts_with("armv9_") || device.starts_with("apple_");
  const auto paranoid_text = system.read("/proc/sys/kernel/perf_event_paranoid");
  const int paranoid = paranoid_text ? std::atoi(paranoid_text->c_str()) : 4;
  const bool closed = present && paranoid > 2;
  checks.push_back(
      {"pmu", present ? Verdict::kOk : Verdict::kWarn, present,
       present ? "the processor counts events (PMU)"
               : "no PMU here (usual in virtual machines): TLB misses cannot be counted, times can",
       ""});
  if (paranoid_text)
    checks.push_back({"perf-event-paranoid", closed ? Verdict::kWarn : Verdict::kOk, paranoid,
                      fmt::format("perf_event_paranoid: {}{}", paranoid,
                                  closed ? ", events are closed to users" : ""),
                      closed ? "sysctl -w kernel.perf_event_paranoid=1" : ""});
}

} // namespace

void check_limits(const SystemView &system, Checks &checks) {
  if (const auto overcommit = system.read_number("/proc/sys/vm/overcommit_memory")) {
    const bool strict = *overcommit == 2;
    checks.push_back({"overcommit", strict ? Verdict::kWarn : Verdict::kOk, *overcommit,
                      strict ? "overcommit is strict (2): large reservations may be refused"
                             : fmt::format("overcommit mode {}", *overcommit),
                      strict ? "sysctl -w vm.overcommit_memory=0" : ""});
  }
  if (const auto mappings = system.read_number("/proc/sys/vm/max_map_count")) {
    const bool few = *mappings < kUsualMappings;
    checks.push_back({"max-map-count", few ? Verdict::kWarn : Verdict::kOk, *mappings,
                      fmt::format("mappings of a process: at most {}", *mappings),
                      few ? fmt::format("sysctl -w vm.max_map_count={}", kUsualMappings) : ""});
  }
  check_limit(
      {"limit-address-space", "address space (ulimit -v)", RLIMIT_AS, "ulimit -v unlimited"},
      checks);
  check_limit({"limit-locked-memory", "locked memory (ulimit -l)", RLIMIT_MEMLOCK, ""}, checks);
  check_cgroup(system, checks);
}

void check_machine(const SystemView &system, Checks &checks) {
  const struct smalloc_machine *machine = machine_of(system);
  const std::string name = machine->name;
  const bool generic = name == "generic";
  checks.push_back({"machine", generic ? Verdict::kWarn : Verdict::kOk, name,
                    fmt::format("processor: {}, TLB reach {} pages ({}){}", name,
                                smalloc_machine_reach_pages(machine),
                                readable_bytes(uint64_t{smalloc_machine_reach_pages(machine)} *
                                               machine->base_page_bytes),
                                generic ? "; smalloc has no preset for it" : ""),
                    generic ? "smalloc machine show generic --json > machine.json # correct it, "
                              "compile with machine=machine.json"
                            : ""});
  const size_t nodes = node_names(system).size();
  checks.push_back({"numa", Verdict::kOk, nodes,
                    fmt::format("{} NUMA node{}", nodes, nodes == 1 ? "" : "s"), ""});

  check_pmu(system, checks);

  const char *tunables = std::getenv("GLIBC_TUNABLES");
  const std::string tunable_text = tunables ? tunables : "";
  const std::string key = "glibc.rtld.optional_static_tls=";
  const size_t at = tunable_text.find(key);
  // 512 bytes is glibc's default since 2.32. libsmalloc needs more if a program loads it with
  // dlopen, or under an audit library.
  const uint64_t tls = at == std::string::npos
                           ? 512
                           : std::strtoull(tunable_text.c_str() + at + key.size(), nullptr, 0);
  checks.push_back({"glibc", Verdict::kOk, gnu_get_libc_version(),
                    fmt::format("glibc {}", gnu_get_libc_version()), ""});
  checks.push_back({"optional-static-tls", Verdict::kOk, tls,
                    fmt::format("glibc.rtld.optional_static_tls: {} (matters only when "
                                "libsmalloc.so is loaded by dlopen: "
                                "link it or preload it; or under LD_AUDIT: it needs 8192 there)",
                                tls),
                    ""});
}

} // namespace smalloc::cli
