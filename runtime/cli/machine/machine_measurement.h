// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// machine_measurement.h measures this machine: levels and walks by pointer chases, costs of pages,
// and walks counted by the PMU. It compares them with the other sources. `smalloc calibrate` stores
// the profile; `smalloc study` makes a quick one if none is stored.
#pragma once

#include "runtime/format/machine_json.h"
#include "runtime/measure/walk_counts.h"

#include <cstdint>
#include <functional>

namespace smalloc::cli {

struct MachineMeasurement {
  format::MachineProfile profile;
  calibrate::CountedWalks counted;
  bool noisy = false; // rounds of some number disagreed; the profile lacks it
  double noise_ratio = 1;
};

// Returns the bytes that a measurement may touch; 0: unknown. Throws Failure if they are too few.
uint64_t memory_to_measure_with();

// Receives the share that is done (0 to 1) and the name of what is measured.
using MeasurementProgress = std::function<void(double, const char *)>;

// Takes about 7 s on an idle machine, a quick one about 1.5 s. Throws Failure if there is too
// little memory, or if neither latencies nor a preset show a level.
MachineMeasurement measure_machine(bool quick, const MeasurementProgress &progress);

} // namespace smalloc::cli
