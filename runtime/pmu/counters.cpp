// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// counters.cpp opens, reads and closes the events. An event that cannot be opened is not counted.
#include "runtime/pmu/counters.h"

namespace smalloc::pmu {

Counters::Counters(PerfSource &source, std::span<const Quantity> quantities, const Target &target)
    : source_(source) {
  handles_.fill(-1);
  for (Quantity quantity : quantities)
    if (const auto code = source.event(quantity))
      handles_[static_cast<size_t>(quantity)] = source.open(*code, target);
}

Counters::~Counters() {
  for (int handle : handles_)
    if (handle >= 0)
      source_.close(handle);
}

void Counters::start() {
  for (int handle : handles_)
    if (handle >= 0)
      source_.enable(handle, true);
}

void Counters::stop() {
  for (int handle : handles_)
    if (handle >= 0)
      source_.enable(handle, false);
}

Counts Counters::read() const {
  Counts counts;
  for (size_t i = 0; i < handles_.size(); i++) {
    const auto reading = handles_[i] >= 0 ? source_.read(handles_[i]) : std::nullopt;
    if (reading && reading->running > 0)
      counts.values[i] = static_cast<double>(reading->count) *
                         static_cast<double>(reading->enabled) /
                         static_cast<double>(reading->running);
  }
  return counts;
}

} // namespace smalloc::pmu
