// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// machine_json.h reads and writes the file form of a machine profile, smalloc.machine/1
// (docs/reference.md). It checks what a file must have, what may be missing, and which values
// are sane. The plugin reads profiles with it, too, so that both take and refuse the same files.
// A number N is {value,low,high,source}; a plain number is read as a value without bounds. Unknown
// keys are ignored, so that newer files can be read.
#pragma once

#include "smalloc/machine.h"

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace smalloc::format {

inline constexpr char kMachineSchema[] = "smalloc.machine/1";

// A quantity, with its bounds and its source.
struct Number {
  std::optional<double> value, low, high;
  std::string source = "unknown"; // measured, preset, cpuid or unknown
};

struct TlbLevel {
  unsigned level = 1;
  std::vector<uint64_t> page_bytes; // sizes that share or use these entries
  Number entries, ways;             // ways: 0: fully associative; none: unknown
  bool shared = false;              // one array serves every size in page_bytes
  std::string index;                // how a page finds its set: "modulo"; else unknown
};

struct WalkCost {
  uint64_t page_bytes = 0;
  std::optional<uint64_t> pages; // page count at which it was measured
  Number cycles;
};

struct PerPage {
  uint64_t page_bytes = 0;
  Number value;
};

struct MachineProfile {
  std::string name;
  std::string vendor; // "", AMD, Intel, Arm, Fujitsu, APM, Qualcomm, Apple, IBM
  std::optional<uint64_t> family, model, midr;
  std::optional<bool> hypervisor;
  std::optional<double> frequency_hz;
  uint64_t base_page_bytes = 4096;
  Number backing_page_bytes;
  std::vector<TlbLevel> tlb;
  Number reach_pages; // effective last-level reach in base pages, if it differs from the entries
  Number l2_hit_cycles;
  std::vector<WalkCost> walk_cost;
  // Cycles that a walk adds to each access if accesses do not wait for each other; empty: unknown.
  std::vector<WalkCost> overlapped_walk_cost;
  // As overlapped_walk_cost, if the accesses' data is in the caches.
  std::vector<WalkCost> overlapped_near_walk_cost;
  std::vector<PerPage> first_touch_ns, bandwidth_bytes_per_second;
  Number read_first_ns; // additional cost of a base page whose first access is no write
  Number collapse_ns;
  Number prefetch_max_stride_bytes;
  std::optional<bool> prefetch_crosses_page;
  std::vector<std::string> disagreements;

  // Returns the last level's data TLB for base pages.
  const TlbLevel *last_level() const;
  // Returns the base pages that the last level covers. A nest's spread is compared with it.
  uint64_t reach() const;
};

// Error in a machine file; what() is the reason in words: "key 'tlb[0].entries' is missing".
class MachineFormatError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

// Parses a machine file. Throws MachineFormatError.
MachineProfile parse_machine(std::string_view text);

// Parses a machine file for callers without exceptions. Returns none on an error, with the reason
// in `why`.
std::optional<MachineProfile> read_machine(std::string_view text, std::string &why) noexcept;

MachineProfile profile_of_preset(const struct smalloc_machine &preset);

nlohmann::ordered_json machine_document(const MachineProfile &profile);

} // namespace smalloc::format
