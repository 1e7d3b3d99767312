// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// prefetch.cpp walks memory with dependent loads. Each address is computed from the last address
// and the loaded value, which is always 0. So the loads depend on each other without pointers in
// memory; writing these would bring the lines into the caches.
#include "runtime/measure/prefetch.h"

#include "runtime/measure/ticks.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace smalloc::calibrate {
namespace {

constexpr uint64_t kLine = 64, kPage = 4096;
constexpr uint64_t kSteps = 16384, kStrideSteps = 4096; // steps of one walk
constexpr unsigned kRepeats = 3;
constexpr uint64_t kStrides[] = {64, 128, 256, 512, 1024, 2048, 4096, 8192};

uint64_t load(const char *address) { return *reinterpret_cast<const volatile uint64_t *>(address); }

void evict(const PageRegion &region) {
  uint64_t sum = 0;
  for (size_t at = 0; at < region.size(); at += kLine)
    sum += load(region.data() + at);
  __asm__ volatile("" : "+r"(sum));
}

// Returns the ticks per step. `step` maps the last offset and value to the next offset.
template <typename Step>
double walk_once(const PageRegion &region, const PageRegion &evicts, uint64_t offset,
                 uint64_t steps, Step step) {
  evict(evicts);
  const uint64_t before = ticks();
  for (uint64_t i = 0; i < steps; i++)
    offset = step(offset, load(region.data() + offset));
  __asm__ volatile("" : "+r"(offset));
  return static_cast<double>(ticks() - before) / static_cast<double>(steps);
}

// Returns the minimum of the repeats; each begins at another place.
template <typename Step>
double walk(const PageRegion &region, const PageRegion &evicts, uint64_t steps, Step step) {
  double least = std::numeric_limits<double>::max();
  for (unsigned repeat = 0; repeat < kRepeats; repeat++)
    least = std::min(least, walk_once(region, evicts, repeat * (std::bit_floor(region.size()) / 4),
                                      steps, step));
  return least;
}

} // namespace

PrefetchLatencies measure_prefetch(const PageRegion &region, const PageRegion &evicts,
                                   double cycles_per_tick) {
  PrefetchLatencies result;
  // A linear congruential sequence (a = 1 mod 4, c odd) visits every line of a power of two once.
  const uint64_t size = std::bit_floor(region.size());
  if (size < (1u << 20) || !evicts.size())
    return result;
  const auto scatter = [](uint64_t index, uint64_t mask) {
    return (index * 0x9e3779b97f4a7c15u + 0x632be59bd9b4e019u) & mask;
  };
  const uint64_t lines = size / kLine - 1, pages = size / kPage - 1;
  result.random_cycles =
      cycles_per_tick * walk(region, evicts, kSteps, [&](uint64_t offset, uint64_t value) {
        const uint64_t next = scatter(offset / kLine + value, lines);
        return next * kLine;
      });
  // Each walk has its own lines, because caches keep lines that are reused, however much is read in
  // between. All walks together fit: 3 * (1/32 + ... + 1 + 1 + 1) sixteenths and less.
  const uint64_t window = size / 16;
  uint64_t from = 0;
  for (uint64_t stride : kStrides) {
    const uint64_t steps = std::min(kStrideSteps, window / stride);
    double least = std::numeric_limits<double>::max();
    for (unsigned repeat = 0; repeat < kRepeats; repeat++) {
      least = std::min(least,
                       walk_once(region, evicts, from, steps, [&](uint64_t offset, uint64_t value) {
                         return (offset + stride + value) & (size - 1);
                       }));
      from = (from + steps * stride) & (size - 1);
    }
    result.strides.push_back({stride, cycles_per_tick * least});
  }
  const uint64_t inside = 4 * kLine;
  result.next_page_cycles =
      cycles_per_tick * walk(region, evicts, kSteps, [&](uint64_t offset, uint64_t value) {
        return (offset + inside + value) & (size - 1);
      });
  result.random_page_cycles =
      cycles_per_tick * walk(region, evicts, kSteps, [&](uint64_t offset, uint64_t value) {
        const uint64_t next = offset + inside + value;
        return next % kPage ? next : scatter(offset / kPage, pages) * kPage;
      });
  return result;
}

} // namespace smalloc::calibrate
