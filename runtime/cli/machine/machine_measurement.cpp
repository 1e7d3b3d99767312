// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// machine_measurement.cpp sets the memory and the repeats of a measurement and runs it.
#include "runtime/cli/machine/machine_measurement.h"

#include "runtime/calibrate/calibrated_profile.h"
#include "runtime/errors/diagnostics.h"
#include "runtime/measure/memory_room.h"
#include "runtime/measure/page_region.h"
#include "runtime/measure/pointer_chase.h"
#include "runtime/measure/ticks.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

namespace smalloc::cli {
namespace {

// Memory of the measurement. Full: 512 MiB of base pages for walks, up to 512 MiB of superpages.
// Quick: 64 MiB of base pages, up to 256 MiB of superpages.
constexpr uint64_t kFullSuperpageMemory = uint64_t{512} << 20;
constexpr uint64_t kMostGiantPages = 12; // enough to find levels of 4 and 8 entries
constexpr uint64_t kLeastMemory = uint64_t{96} << 20;
// A full measurement ends within 25 seconds. Disturbed chases are repeated; the walks' rounds come
// last, so a busy machine gets fewer of them.
constexpr std::chrono::seconds kWalksEndAfter{20};

bool under_hypervisor(const calibrate::CpuidReader &cpuid) { return cpuid(1, 0).ecx >> 31 & 1; }

void identify(format::MachineProfile &profile, const calibrate::CpuidReader &cpuid) {
  const uint32_t vendor = cpuid(0, 0).ebx;
  if (vendor == 0x68747541 || vendor == 0x756e6547) {
    profile.vendor = vendor == 0x68747541 ? "AMD" : "Intel";
    const uint32_t eax = cpuid(1, 0).eax;
    uint32_t family = eax >> 8 & 15, model = eax >> 4 & 15;
    if (family == 6 || family == 15)
      model |= eax >> 12 & 0xf0;
    if (family == 15)
      family += eax >> 20 & 0xff;
    profile.family = family;
    profile.model = model;
  }
#if defined(__aarch64__)
  uint64_t midr;
  __asm__("mrs %0, midr_el1" : "=r"(midr));
  profile.midr = midr;
  profile.vendor = midr >> 24 == 0x41 ? "Arm" : "";
#endif
}

} // namespace

uint64_t memory_to_measure_with() {
  const uint64_t available = calibrate::available_bytes();
  if (available && available < 2 * kLeastMemory)
    throw Failure{"cannot calibrate", fmt::format("{} MiB", available >> 20),
                  "there is too little free memory to measure with",
                  "free some memory, or compile with machine=native (the preset)", kFailed};
  return available;
}

MachineMeasurement measure_machine(bool quick, const MeasurementProgress &progress) {
  const uint64_t available = memory_to_measure_with();
  const uint64_t room = available ? available / 4 : UINT64_MAX;
  const uint64_t base = calibrate::base_page_bytes();
  const uint64_t superpage = calibrate::transparent_superpage_bytes();

  calibrate::PointerChase::Plan chase_plan;
  chase_plan.most_lines = std::min<uint64_t>(quick ? 16384 : 131072, room / base);
  chase_plan.superpage_bytes = superpage;
  chase_plan.superpage_memory =
      std::min(quick ? kFullSuperpageMemory / 2 : kFullSuperpageMemory, room);
  chase_plan.repeats = quick ? 15 : 41;
  // Further sizes get as many pages as the search for levels needs. A page of 1 GiB takes long to
  // clear; one stays in the pool for the costs of pages.
  std::vector<uint64_t> other_sizes;
  if (!quick) {
    for (uint64_t size : calibrate::medium_page_bytes()) {
      other_sizes.push_back(size);
      chase_plan.other_sizes.emplace_back(size, std::min(8192 * size, room / 2));
    }
    if (const uint64_t giants = calibrate::giant_pages()) {
      other_sizes.push_back(calibrate::kGiantPage);
      chase_plan.other_sizes.emplace_back(
          calibrate::kGiantPage, std::min(giants - 1, kMostGiantPages) * calibrate::kGiantPage);
    }
  }
  calibrate::PointerChase source(chase_plan);

  calibrate::GeometryPlan plan;
  plan.base_page_bytes = base;
  if (superpage)
    plan.superpage_bytes = {superpage};
  plan.other_bytes = other_sizes;
  plan.rounds = quick ? 2 : 5;
  if (quick) {
    plan.walk_rounds = 3;
    plan.walk_pages = {4096, 8192, 16384};
  }
  const auto start = std::chrono::steady_clock::now();
  plan.hurry = [&] { return std::chrono::steady_clock::now() - start > kWalksEndAfter; };
  plan.progress = [&](double done) { progress(0.8 * done, "levels and walks"); };

  calibrate::ProfileSources sources;
  sources.geometry = calibrate::measure_geometry(source, plan);
  if (!superpage)
    sources.geometry.unknown.push_back(
        "superpages: unknown (transparent huge pages are absent or switched off)");
  const double rate = calibrate::ticks_per_second();
  sources.frequency_hz = rate * source.cycles_per_tick();
  // Count the walks after the levels are known, with the last chase of the walk curve.
  sources.counted = calibrate::count_walks(
      pmu::kernel_perf(), [&] { source.chase({base, base, plan.walk_pages.back()}); });

  calibrate::PageCostsPlan costs_plan;
  costs_plan.superpage_bytes = source.has_superpages() ? superpage : 0;
  costs_plan.other_bytes = other_sizes;
  costs_plan.memory_bytes = std::min<uint64_t>(quick ? 64 << 20 : 128 << 20, room / 2);
  costs_plan.stream_bytes = std::min<uint64_t>(quick ? 128 << 20 : 512 << 20, room / 2);
  costs_plan.cycles_per_tick = source.cycles_per_tick();
  costs_plan.ticks_per_second = rate;
  costs_plan.progress = [&](double done) { progress(0.8 + 0.2 * done, "costs of pages"); };
  sources.costs = calibrate::measure_page_costs(costs_plan);

  const auto cpuid = calibrate::native_cpuid();
  sources.cpuid = calibrate::decode_cpuid_tlbs(cpuid);
  const struct smalloc_machine *preset = smalloc_machine_native();
  sources.preset = std::string(preset->name) == "generic" ? nullptr : preset;
#if defined(__x86_64__)
  sources.hypervisor = under_hypervisor(cpuid);
#endif
  sources.base_page_bytes = base;
  MachineMeasurement result{calibrate::build_profile(sources), sources.counted,
                            sources.geometry.noisy, sources.geometry.noise_ratio};
  identify(result.profile, cpuid);
  if (!result.profile.last_level())
    throw Failure{"cannot calibrate", "TLB",
                  result.noisy ? "the machine is too noisy, and no preset knows the processor"
                               : "no level shows in the latencies, and no preset knows the "
                                 "processor",
                  "smalloc calibrate again on an idle machine", kFailed};
  return result;
}

} // namespace smalloc::cli
