// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// calibrated_profile.h decides which source each number of a machine profile comes from: measured
// before preset before CPUID before unknown, and which of them disagree. And when a stored profile
// still fits what is measured.
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
  CountedWalks counted; // by the PMU, at the last page count of the base pages' walk curve
  std::vector<CpuidTlb> cpuid;
  const struct smalloc_machine *preset = nullptr; // null: none knows this processor
  std::optional<double> frequency_hz;
  std::optional<bool> hypervisor;
  uint64_t base_page_bytes = 4096;
};

// Disagreements and what is unknown stand in `disagreements`. Vendor, family, model and MIDR are
// the caller's to fill in. Without any source for the base page's levels, `tlb` is empty.
format::MachineProfile build_profile(const ProfileSources &sources);

struct Difference {
  std::string what; // "TLB level 1, 4 KiB: entries"
  double stored = 0, now = 0;
  bool significant = false;
};

// Numbers that both profiles measured. Significant: first-level entries differ by more than 2,
// reach by more than 10 %, cycles by more than 25 % and 2, times and rates by more than a factor of
// two (they depend on what the host had free).
std::vector<Difference> compare_profiles(const format::MachineProfile &stored,
                                         const format::MachineProfile &now);

} // namespace smalloc::calibrate
