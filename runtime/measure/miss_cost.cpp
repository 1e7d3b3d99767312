// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// miss_cost.cpp finds a steady latency and prints the cost of a TLB miss.
#include "runtime/measure/miss_cost.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace smalloc::calibrate {
namespace {

// Values of tlbmiss_cost.sh: SIZE, STRIDE, TOLERANCE, MATCH_REQUIREMENT.
constexpr uint64_t kFirstBytes = 13631488, kStepBytes = 3932160;
constexpr double kToleranceCycles = 2;
constexpr unsigned kMatches = 3;
constexpr double kRunsAgree = 0.04;

} // namespace

std::optional<SteadyLatency>
find_steady_latency(const std::function<std::optional<double>(uint64_t)> &cycles_of,
                    uint64_t most_bytes, const Trace &trace) {
  trace(fmt::format("Starting Working Set Size (WSS): {} bytes", kFirstBytes));
  trace(fmt::format("Required tolerance for match: {} cycles", kToleranceCycles));
  std::optional<double> last;
  unsigned matched = 0;
  for (uint64_t bytes = kFirstBytes; bytes <= most_bytes; bytes += kStepBytes) {
    const auto cycles = cycles_of(bytes);
    if (!cycles) {
      trace(fmt::format("No TLB Latency measured: New WSS {}", bytes + kStepBytes));
      continue;
    }
    if (last && std::fabs(*cycles - *last) <= kToleranceCycles) {
      matched++;
      trace(fmt::format("Measured TLB Latency {:.0f} cycles within tolerance. Matched {}/{}",
                        *cycles, matched, kMatches));
      if (matched == kMatches)
        return SteadyLatency{*cycles, bytes};
    } else if (last) {
      matched = 0;
      trace(fmt::format("Measured TLB Latency {:.0f} cycles outside tolerance", *cycles));
    }
    last = cycles;
  }
  return std::nullopt;
}

std::string miss_cost_lines(double cycles, double frequency_hz) {
  const double whole = std::max(std::round(cycles), 1.0);
  return fmt::format("TLB_MISS_LATENCY_TIME={:.2f}\nTLB_MISS_LATENCY_CYCLES={:.0f}\n"
                     "TLB_MISSES_COST_ONE_SECOND={:.0f}\nTLB_MISS_COST={:.0f}\n",
                     whole / frequency_hz * 1e9, whole, std::floor(frequency_hz / whole), whole);
}

std::optional<double> miss_cost_of_counts(const WalkCounts &with_misses,
                                          const WalkCounts &with_walks) {
  const double larger = std::max(with_misses.cycles, with_walks.cycles),
               smaller = std::min(with_misses.cycles, with_walks.cycles);
  if (with_misses.misses <= 0 || smaller <= 0 || larger - smaller > kRunsAgree * larger)
    return std::nullopt;
  return with_walks.walk_cycles / with_misses.misses;
}

double translation_share(double misses, double cost_cycles, double cycles) {
  return std::min(1.0, misses * cost_cycles / cycles);
}

} // namespace smalloc::calibrate
