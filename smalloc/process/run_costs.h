// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// run_costs.h measures the cost of a run for comparisons of runs. A run is this process and the
// children that it has waited for. An analysis likewise takes the traces of all of them for one
// run, and shells time a command this way.
#ifndef SMALLOC_PROCESS_RUN_COSTS_H
#define SMALLOC_PROCESS_RUN_COSTS_H

#include <stdint.h>
#include <sys/resource.h>

namespace smalloc {

struct RunCosts {
  uint64_t user_us = 0, system_us = 0;
  uint64_t minor_faults = 0, major_faults = 0;
  uint64_t peak_bytes = 0; ///< of one process; operator+ keeps the left operand's

  RunCosts operator+(const RunCosts &other) const {
    return {user_us + other.user_us, system_us + other.system_us, minor_faults + other.minor_faults,
            major_faults + other.major_faults, peak_bytes};
  }
  RunCosts operator-(const RunCosts &earlier) const {
    return {user_us - earlier.user_us, system_us - earlier.system_us,
            minor_faults - earlier.minor_faults, major_faults - earlier.major_faults, peak_bytes};
  }
};

/// Returns the costs so far. `who`: RUSAGE_SELF or RUSAGE_CHILDREN. Returns zeros if the kernel
/// does not report them. exec keeps both counts: the caller must subtract what the process used
/// before it became this program.
inline RunCosts costs_of(int who) {
  const auto microseconds = [](const timeval &t) {
    return static_cast<uint64_t>(t.tv_sec) * 1000000u + static_cast<uint64_t>(t.tv_usec);
  };
  rusage usage;
  if (getrusage(who, &usage) != 0)
    return {};
  return {microseconds(usage.ru_utime), microseconds(usage.ru_stime),
          static_cast<uint64_t>(usage.ru_minflt), static_cast<uint64_t>(usage.ru_majflt),
          static_cast<uint64_t>(usage.ru_maxrss) * 1024};
}

} // namespace smalloc
#endif
