// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// machine_measurement.h decides what a whole measurement of this machine is: levels and walks by
// pointer chases, costs of pages, counted walks, and the sources they are compared with. `smalloc
// calibrate` stores it, `smalloc study` takes a quick one where none is stored.
#pragma once

#include "runtime/format/machine_json.h"
#include "runtime/measure/walk_counts.h"

#include <cstdint>
#include <functional>

namespace smalloc::cli {

struct MachineMeasurement {
  format::MachineProfile profile;
  calibrate::CountedWalks counted;
  bool noisy = false; // repeats disagreed about some number; it is not in the profile
  double noise_ratio = 1;
};

// Bytes that a measurement may touch; 0: unknown. Throws Failure when they are too few.
uint64_t memory_to_measure_with();

// Called with the share that is done (0 to 1) and what is being measured.
using MeasurementProgress = std::function<void(double, const char *)>;

// About 7 s on an idle machine, quick about 1.5 s. Throws Failure when there is too little memory, or when
// neither latencies nor a preset tell any level.
MachineMeasurement measure_machine(bool quick, const MeasurementProgress &progress);

} // namespace smalloc::cli
