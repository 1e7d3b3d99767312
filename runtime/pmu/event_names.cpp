// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// event_names.cpp lists the event names that are tried for each quantity, the best first.
#include "runtime/pmu/event_names.h"

#include "runtime/pmu/libpfm_interface.h"
#include "smalloc/machine.h"

#include <cstdlib>
#include <cstring>
#include <span>

#include <linux/perf_event.h>

namespace smalloc::pmu {
namespace {

// Only loads: a store waits in the store buffer during its walk.
constexpr const char *kWalkNames[] = {
    "DTLB_LOAD_MISSES:WALK_COMPLETED", // Intel since Sandy Bridge
    "DTLB_MISSES:WALK_COMPLETED",      // Westmere, Nehalem
    "PAGE_WALKS:COUNT",                // Core 2
    ("L1_DTLB_MISS:TLB_RELOAD_4K_L2_MISS:TLB_RELOAD_2M_L2_MISS:TLB_RELOAD_1G_L2_MISS:"
     "TLB_RELOAD_COALESCED_PAGE_MISS"), // Zen
    "DTLB_WALK",                        // Arm
    "PM_DTLB_MISS",                     // POWER
};
constexpr const char *kWalkCycleNames[] = {
    "DTLB_LOAD_MISSES:WALK_ACTIVE",   // Intel since Skylake
    "DTLB_LOAD_MISSES:WALK_DURATION", // Sandy Bridge to Broadwell
    "DTLB_MISSES:WALK_CYCLES",        // Westmere
    "PAGE_WALKS:D_SIDE_CYCLES",       // Silvermont, Goldmont
    "PAGE_WALKS:CYCLES",              // Core 2
    "PM_DATA_TABLEWALK_CYC",          // POWER5 to 7, PPC970
    "PM_TABLEWALK_CYC",               // POWER8
};
constexpr const char *kStallNames[] = {
    "CYCLE_ACTIVITY:STALLS_L1D_MISS",    // Intel since Skylake
    "CYCLE_ACTIVITY:STALLS_L1D_PENDING", // Sandy Bridge to Broadwell
    "STALL_BACKEND_MEM",                 // Arm
    "PM_CMPLU_STALL_DCACHE_MISS",        // POWER
};

std::span<const char *const> names_of(Quantity quantity) {
  switch (quantity) {
  case Quantity::kWalks:
    return kWalkNames;
  case Quantity::kWalkCycles:
    return kWalkCycleNames;
  case Quantity::kMemoryStalls:
    return kStallNames;
  default:
    return {};
  }
}

bool ready() {
  // Also load the tables of other processors: presets and tests use them.
  static const bool initialised =
      setenv("LIBPFM_ENCODE_INACTIVE", "1", 0) == 0 && pfm_initialize() == kPfmSuccess;
  return initialised;
}

std::optional<EventCode> encode(const std::string &name) {
  struct perf_event_attr attributes;
  std::memset(&attributes, 0, sizeof attributes);
  PfmEncodeArgument argument;
  std::memset(&argument, 0, sizeof argument);
  argument.size = sizeof argument;
  argument.attr = &attributes;
  if (!ready() || pfm_get_os_event_encoding(name.c_str(), kPfmUserLevel, kPfmOsPerfEvent,
                                            &argument) != kPfmSuccess)
    return std::nullopt;
  return EventCode{attributes.type, attributes.config, attributes.config1, attributes.config2,
                   name};
}

// Returns the kernel's generic event for a quantity. The kernel maps it to an event of the
// processor, or refuses to open it.
std::optional<EventCode> generic(Quantity quantity) {
  const auto hardware = [](uint64_t config, const char *name) {
    return EventCode{PERF_TYPE_HARDWARE, config, 0, 0, name};
  };
  switch (quantity) {
  case Quantity::kCycles:
    return hardware(PERF_COUNT_HW_CPU_CYCLES, "cycles");
  case Quantity::kInstructions:
    return hardware(PERF_COUNT_HW_INSTRUCTIONS, "instructions");
  case Quantity::kCacheMisses:
    return hardware(PERF_COUNT_HW_CACHE_MISSES, "cache-misses");
  case Quantity::kBranchMisses:
    return hardware(PERF_COUNT_HW_BRANCH_MISSES, "branch-misses");
  case Quantity::kWalks:
    return EventCode{PERF_TYPE_HW_CACHE,
                     PERF_COUNT_HW_CACHE_DTLB | PERF_COUNT_HW_CACHE_OP_READ << 8 |
                         PERF_COUNT_HW_CACHE_RESULT_MISS << 16,
                     0, 0, "dTLB-load-misses"};
  default:
    return std::nullopt;
  }
}

} // namespace

std::string table_of_machine(const std::string &preset) {
  struct Row {
    const char *preset, *table;
  };
  // For these events, Alder Lake and later kept the codes of Sapphire Rapids, Zen 5 those of Zen 4.
  constexpr Row rows[] = {{"golden-cove", "spr"},
                          {"redwood-cove", "spr"},
                          {"lion-cove", "spr"},
                          {"ice-lake", "icl"},
                          {"skylake-x", "skx"},
                          {"skylake", "skl"},
                          {"core2", "core"},
                          {"zen1", "amd64_fam17h_zen1"},
                          {"zen2", "amd64_fam17h_zen2"},
                          {"zen3", "amd64_fam19h_zen3"},
                          {"zen4", "amd64_fam19h_zen4"},
                          {"zen5", "amd64_fam19h_zen4"},
                          {"neoverse-n1", "arm_n1"},
                          {"neoverse-v1", "arm_v1"},
                          {"neoverse-n2", "arm_n2"},
                          {"neoverse-v2", "arm_v2"},
                          {"a64fx", "arm_a64fx"},
                          {"power8", "power8"},
                          {"power9", "power9"},
                          {"power10", "power10"},
                          {"ppc970", "ppc970"},
                          {"power5", "power5p"}};
  for (const Row &row : rows)
    if (preset == row.preset)
      return row.table;
  return {};
}

std::optional<EventCode> encode_event(const std::string &name, const std::string &table) {
  std::string tables[2] = {table, {}};
  if (table.empty()) {
    tables[0] = table_of_machine(smalloc_machine_native()->name);
    tables[1] = "-"; // the table that libpfm4 detects
  }
  for (const std::string &one : tables)
    if (!one.empty())
      if (auto code = encode(one == "-" ? name : one + "::" + name))
        return code;
  return std::nullopt;
}

std::optional<EventCode> find_event(Quantity quantity, const std::string &table) {
  for (const char *name : names_of(quantity))
    if (auto code = encode_event(name, table))
      return code;
  return generic(quantity);
}

} // namespace smalloc::pmu
