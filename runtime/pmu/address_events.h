// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// address_events.h decides which event of a processor tells the data addresses of accesses that missed the TLB: Intel's loads that
// missed the second level (PEBS; libpfm4 knows them by name), AMD's sampled operations (IBS) and Arm's (SPE), of which those are
// taken that say so themselves. Tried in this order, the first that the kernel opens.
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
  uint64_t period_step = 1; // periods are multiples of it
};

struct AddressProbe {
  std::function<int(const AddressEvent &, uint64_t period)> open; // 0, or an errno value
  std::function<std::optional<std::string>(const std::string &path)> read_file;
};
// perf_event_open, /sys.
AddressProbe kernel_probe();

struct FoundEvent {
  std::optional<AddressEvent> event;
  std::string obstacle; // why there is none, in words
};
// `table`: one of libpfm4's; empty: this processor's.
FoundEvent find_address_event(const AddressProbe &probe, uint64_t period,
                              const std::string &table = {});

} // namespace smalloc::pmu
