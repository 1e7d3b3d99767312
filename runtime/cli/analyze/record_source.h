// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// record_source.h chooses the source of a recording's data accesses. The program records them if it
// was compiled with profile-generate. Otherwise the PMU samples accesses that missed the TLB, or
// the kernel reports page faults.
#pragma once

#include "runtime/pmu/address_events.h"

#include <cstdint>
#include <string>

namespace smalloc::cli {

struct RecordSource {
  std::string setting; ///< for SMALLOC_CONF, with its comma in front; empty: the program records
  std::string note;    ///< one line for the user; empty: none
};

/// Chooses the source. `wanted`: auto, pmu, faults or instrumented; empty: auto without a note if
/// the program records its accesses. `period` 0: the default. Throws Failure if the PMU is wanted
/// and does not work.
RecordSource choose_source(const std::string &wanted, uint64_t period, bool tells_accesses,
                           const pmu::AddressProbe &probe);

} // namespace smalloc::cli
