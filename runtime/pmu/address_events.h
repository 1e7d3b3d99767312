// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// address_events.h finds the processor's event that samples data addresses of accesses that missed
// the TLB. It tries these events in order and takes the first that the kernel opens:
//   1. Intel: loads that missed the second-level TLB (PEBS; libpfm4 knows their names).
//   2. AMD: sampled operations (IBS).
//   3. Arm: sampled operations (SPE).
// An IBS or SPE sample itself says whether it missed the TLB; the reader keeps those that did.
#pragma once

#include "runtime/pmu/perf_source.h"

#include <functional>
#include <optional>
#include <string>

namespace smalloc::pmu {

struct AddressEvent {
  enum class Kind { kMisses, kIbs, kSpe } kind = Kind::kMisses;
  EventCode code;
  unsigned precise = 0;
  uint64_t period_step = 1; // the period must be a multiple of it
};

struct AddressProbe {
  std::function<int(const AddressEvent &, uint64_t period)> open; // returns 0 or an errno value
  std::function<std::optional<std::string>(const std::string &path)> read_file;
};
// Returns a probe that uses perf_event_open and /sys.
AddressProbe kernel_probe();

struct FoundEvent {
  std::optional<AddressEvent> event;
  std::string obstacle; // why there is no event, in words
};
// Finds the event with sampling period `period`, rounded up to the event's step. `table`: a table
// of libpfm4; empty: this processor's.
FoundEvent find_address_event(const AddressProbe &probe, uint64_t period,
                              const std::string &table = {});

} // namespace smalloc::pmu
