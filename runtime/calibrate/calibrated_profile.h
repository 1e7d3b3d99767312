// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// calibrated_profile.h builds a machine profile from its sources and compares profiles. For each
// number it takes the measurement, else the preset, else CPUID, else "unknown". It also lists
// sources that disagree. compare_profiles() shows whether a stored profile still fits the
// measurements.
#pragma once

#include "runtime/calibrate/cpuid_tlb.h"
#include "runtime/format/machine_json.h"
#include "runtime/measure/geometry.h"
#include "runtime/measure/page_costs.h"
#include "runtime/measure/walk_counts.h"

namespace smalloc::calibrate {

struct ProfileSources {
  Geometry geometry;
  PageCosts costs;
  CountedWalks counted; // counted by the PMU, at the last page count of the base pages' walk curve
  std::vector<CpuidTlb> cpuid;
  const struct smalloc_machine *preset = nullptr; // null: no preset for this processor
  std::optional<double> frequency_hz;
  std::optional<bool> hypervisor;
  uint64_t base_page_bytes = 4096;
};

// Builds the profile. `disagreements` lists disagreements and unknown numbers. The caller fills in
// vendor, family, model and MIDR. `tlb` is empty if no source knows the base page's levels.
format::MachineProfile build_profile(const ProfileSources &sources);

struct Difference {
  std::string what; // "TLB level 1, 4 KiB: entries"
  double stored = 0, now = 0;
  bool significant = false;
};

// Compares the numbers that both profiles measured. A difference is significant if it exceeds:
//   first-level entries: 2; further levels and reach: 10 % and 2 entries;
//   cycles: 25 % and 2 cycles (8 cycles where walks overlap);
//   the backing page: any difference;
//   times and rates: a factor of two, because they depend on the host's free memory.
std::vector<Difference> compare_profiles(const format::MachineProfile &stored,
                                         const format::MachineProfile &now);

} // namespace smalloc::calibrate
