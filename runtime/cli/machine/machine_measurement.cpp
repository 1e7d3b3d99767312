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

namespace {

// Describes the memory and the pages of a measurement.
struct Room {
  bool quick;
  uint64_t bytes; // of memory
  uint64_t base, superpage;
};

calibrate::PointerChase::Plan plan_chases(const Room &room) {
  calibrate::PointerChase::Plan plan;
  plan.most_lines = std::min<uint64_t>(room.quick ? 16384 : 131072, room.bytes / room.base);
  plan.superpage_bytes = room.superpage;
  plan.superpage_memory =
      std::min(room.quick ? kFullSuperpageMemory / 2 : kFullSuperpageMemory, room.bytes);
  plan.repeats = room.quick ? 15 : 41;
  if (room.quick)
    return plan;
  // Further sizes get as many pages as the search for levels needs. A page of 1 GiB takes long to
  // clear; one stays in the pool for the costs of pages.
  for (uint64_t size : calibrate::medium_page_bytes())
    plan.other_sizes.emplace_back(size, std::min(8192 * size, room.bytes / 2));
  if (const uint64_t giants = calibrate::giant_pages())
    plan.other_sizes.emplace_back(calibrate::kGiantPage,
                                  std::min(giants - 1, kMostGiantPages) * calibrate::kGiantPage);
  return plan;
}

calibrate::GeometryPlan plan_geometry(const Room &room, const calibrate::PointerChase::Plan &chases,
                                      const MeasurementProgress &progress) {
  calibrate::GeometryPlan plan;
  plan.base_page_bytes = room.base;
  if (room.superpage)
    plan.superpage_bytes = {room.superpage};
  for (const auto &[size, memory] : chases.other_sizes)
    plan.other_bytes.push_back(size);
  plan.rounds = room.quick ? 2 : 5;
  if (room.quick) {
    plan.walk_rounds = 3;
    plan.walk_pages = {4096, 8192, 16384};
  }
  const auto start = std::chrono::steady_clock::now();
  plan.hurry = [start] { return std::chrono::steady_clock::now() - start > kWalksEndAfter; };
  plan.progress = [&progress](double done) { progress(0.8 * done, "levels and walks"); };
  return plan;
}

} // namespace

MachineMeasurement measure_machine(bool quick, const MeasurementProgress &progress) {
  const uint64_t available = memory_to_measure_with();
  const Room room = {quick, available ? available / 4 : UINT64_MAX, calibrate::base_page_bytes(),
                     calibrate::transparent_superpage_bytes()};
  const calibrate::PointerChase::Plan chases = plan_chases(room);
  calibrate::PointerChase source(chases);
  const calibrate::GeometryPlan plan = plan_geometry(room, chases, progress);

  calibrate::ProfileSources sources;
  sources.geometry = calibrate::measure_geometry(source, plan);
  if (!room.superpage)
    sources.geometry.unknown.push_back(
        "superpages: unknown (transparent huge pages are absent or switched off)");
  const double rate = calibrate::ticks_per_second();
  sources.frequency_hz = rate * source.cycles_per_tick();
  // Count the walks after the levels are known, with the last chase of the walk curve.
  sources.counted = calibrate::count_walks(
      pmu::kernel_perf(), [&] { source.chase({room.base, room.base, plan.walk_pages.back()}); });

  calibrate::PageCostsPlan costs;
  costs.superpage_bytes = source.has_superpages() ? room.superpage : 0;
  costs.other_bytes = plan.other_bytes;
  costs.memory_bytes = std::min<uint64_t>(quick ? 64 << 20 : 128 << 20, room.bytes / 2);
  costs.stream_bytes = std::min<uint64_t>(quick ? 128 << 20 : 512 << 20, room.bytes / 2);
  costs.cycles_per_tick = source.cycles_per_tick();
  costs.ticks_per_second = rate;
  costs.progress = [&](double done) { progress(0.8 + 0.2 * done, "costs of pages"); };
  sources.costs = calibrate::measure_page_costs(costs);

  const auto cpuid = calibrate::native_cpuid();
  sources.cpuid = calibrate::decode_cpuid_tlbs(cpuid);
  const struct smalloc_machine *preset = smalloc_machine_native();
  sources.preset = std::string(preset->name) == "generic" ? nullptr : preset;
#if defined(__x86_64__)
  sources.hypervisor = under_hypervisor(cpuid);
#endif
  sources.base_page_bytes = room.base;
  MachineMeasurement result{calibrate::build_profile(sources), sources.counted,
                            sources.geometry.noisy, sources.geometry.noise_ratio};
  identify(result.profile, cpuid);
  if (!result.profile.last_level())
    throw Failure{
        "cannot calibrate", "TLB",
        result.noisy
            ? "the machine is too noisy, and smalloc has no preset for the processor"
            : "no TLB level shows in the latencies, and smalloc has no preset for the processor",
        "smalloc calibrate again on an idle machine", kFailed};
  return result;
}

} // namespace smalloc::cli
