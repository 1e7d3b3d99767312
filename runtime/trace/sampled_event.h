// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// sampled_event.h encodes the event of perf_event_open(2) that `smalloc record` lets the recorded
// process sample: SMALLOC_CONF=event:KIND/TYPE/CONFIG/CONFIG1/PRECISE/PERIOD, numbers in
// hexadecimal. The command knows the processor's events by name (runtime/pmu/address_events.h); the
// process needs only their codes.
//
// Used inside the traced process too: no allocation, no exceptions.
#ifndef RUNTIME_TRACE_SAMPLED_EVENT_H
#define RUNTIME_TRACE_SAMPLED_EVENT_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

namespace smalloc::trace {

enum class SampleKind : uint8_t {
  kMisses, ///< each sample is an access that missed the TLB (PEBS)
  kIbs,    ///< operations, each with a mark if it missed the TLB (AMD)
  kSpe,    ///< as kIbs, in an auxiliary area (Arm)
  kFaults, ///< page faults of the kernel
};

struct SampledEvent {
  SampleKind kind;
  uint32_t type; ///< PERF_TYPE_*, or a device's
  uint64_t config, config1;
  unsigned precise;
  uint64_t period; ///< events for each sample
};

inline constexpr const char *kSampleKinds[] = {"misses", "ibs", "spe", "faults"};

/// Parses `text`. False: it is no event.
inline bool parse_event(const char *text, SampledEvent &event) {
  const char *slash = strchr(text, '/');
  size_t kind = 0;
  for (; kind < sizeof kSampleKinds / sizeof *kSampleKinds; kind++)
    if (slash && strlen(kSampleKinds[kind]) == static_cast<size_t>(slash - text) &&
        strncmp(text, kSampleKinds[kind], static_cast<size_t>(slash - text)) == 0)
      break;
  if (kind == sizeof kSampleKinds / sizeof *kSampleKinds)
    return false;
  uint64_t numbers[5];
  for (uint64_t &number : numbers) {
    char *end = nullptr;
    number = strtoull(++slash, &end, 16);
    const bool last = &number == &numbers[4];
    if (end == slash || *end != (last ? 0 : '/'))
      return false;
    slash = end;
  }
  event.kind = static_cast<SampleKind>(kind);
  event.type = static_cast<uint32_t>(numbers[0]);
  event.config = numbers[1];
  event.config1 = numbers[2];
  event.precise = static_cast<unsigned>(numbers[3]);
  event.period = numbers[4];
  return numbers[0] <= UINT32_MAX && numbers[3] <= 3 && event.period > 0;
}

} // namespace smalloc::trace
#endif
