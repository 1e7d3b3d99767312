// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "smalloc/core/birth_price.h"

#include <string.h>

namespace smalloc {

bool BirthPrice::looks_dear() const {
  return os_->now_ns() < dear_until_ns_.load(std::memory_order_relaxed);
}

uint64_t BirthPrice::most_units() {
  uint8_t nodes = nodes_.load(std::memory_order_relaxed);
  if (nodes == 0) {
    char path[320], text[64];
    static const char kFile[] = "/devices/system/node/online"; // "0", "0-1", "0,2"
    const size_t length = strlen(sysfs_root_);
    nodes = 1;
    if (length + sizeof kFile <= sizeof path) {
      memcpy(path, sysfs_root_, length);
      memcpy(path + length, kFile, sizeof kFile);
      if (os_->read_file(path, text, sizeof text) > 0 && text[strcspn(text, "-,")])
        nodes = 2;
    }
    nodes_.store(nodes, std::memory_order_relaxed);
  }
  if (nodes > 1)
    return kMostOfNodes;
  return cheap_in_a_row_.load(std::memory_order_relaxed) < kMostUnits ? kMostUnits : kMostTrusted;
}

/// Some base pages are dear where others are not; the lesser of two speaks for most. 0: not to be found out.
uint64_t BirthPrice::base_now() {
  const uint64_t first = os_->first_touch_ns();
  return first < kSurelyCheapNs * kMostTimesBase * 2 ? first : min_of(first, os_->first_touch_ns());
}

uint64_t BirthPrice::base_price() {
  const uint64_t began = os_->now_ns();
  if (began < base_until_ns_.load(std::memory_order_relaxed))
    return base_ns_.load(std::memory_order_relaxed);
  const uint64_t base = base_now(), ended = os_->now_ns();
  base_ns_.store(base, std::memory_order_relaxed);
  base_until_ns_.store(ended + kPauseTimesLoss * (ended - began), std::memory_order_relaxed);
  return base;
}

void BirthPrice::sample_one(char *start) {
  if (!os_ || sampled_.load(std::memory_order_relaxed) >= kMostSampled)
    return;
  sampled_.fetch_add(1, std::memory_order_relaxed);
  if (const uint64_t took = os_->populate_ns(start, kSuperpageBytes))
    note_touch(took);
}

uint64_t BirthPrice::touch_some(char *start, uint64_t units, bool advise) {
  if (!os_)
    return units;
  const uint64_t most = min_of(units, most_units());
  uint64_t base = 0, spent_cheaply = 0, lost = 0, cheap = 0;
  for (uint64_t i = 0; i < most; i++) {
    char *unit = start + i * kSuperpageBytes;
    if (advise && os_->advise(unit, kSuperpageBytes, Advice::kSuperpages) != 0)
      return i;
    const uint64_t took = os_->populate_ns(unit, kSuperpageBytes);
    if (took == 0)
      return units; // the kernel cannot: as if it were cheap
    note_touch(took);
    if (took > kSurelyCheapNs && base == 0 && (base = base_price()) == 0)
      return units;
    if (took <= kSurelyCheapNs || took <= kMostTimesBase * base) {
      cheap++;
      spent_cheaply += took;
      continue;
    }
    lost += took - base;
    const uint64_t without = cheap * base;
    const uint64_t saved = without > spent_cheaply ? without - spent_cheaply : 0;
    if (lost <= saved / 2)
      continue;
    cheap_in_a_row_.store(0, std::memory_order_relaxed);
    dear_until_ns_.store(os_->now_ns() + kPauseTimesLoss * (lost - saved / 2),
                         std::memory_order_relaxed);
    return i + 1;
  }
  cheap_in_a_row_.fetch_add(cheap, std::memory_order_relaxed);
  return units;
}

} // namespace smalloc
