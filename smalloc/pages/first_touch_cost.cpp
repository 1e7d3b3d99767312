// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "smalloc/pages/first_touch_cost.h"

namespace smalloc {

bool FirstTouchCost::in_pause() const {
  return os_->now_ns() < pause_until_ns_.load(std::memory_order_relaxed);
}

/// Returns the cost of the first touches of 512 base pages, in ns; 0: it cannot be measured.
uint64_t FirstTouchCost::base_ns() {
  const uint64_t began = os_->now_ns();
  if (began < base_until_ns_.load(std::memory_order_relaxed))
    return base_ns_.load(std::memory_order_relaxed);
  const uint64_t base = os_->first_touch_ns(), ended = os_->now_ns();
  base_ns_.store(base, std::memory_order_relaxed);
  base_until_ns_.store(ended + kBelieveTimes * (ended - began), std::memory_order_relaxed);
  return base;
}

bool FirstTouchCost::account(uint64_t took_ns) {
  if (!os_ || took_ns == 0)
    return true;
  uint64_t base = kUsualBaseNs;
  if (took_ns > kSurelyCheapNs && (base = base_ns()) == 0)
    return true;
  return account(took_ns, base);
}

bool FirstTouchCost::account(uint64_t took_ns, uint64_t base_ns) {
  if (!os_)
    return true;
  const auto gain = static_cast<int64_t>(base_ns + kWalksNs) - static_cast<int64_t>(took_ns);
  int64_t balance = balance_ns_.load(std::memory_order_relaxed) + gain;
  if (gain >= 0) {
    pause_ns_.store(kFirstPauseNs, std::memory_order_relaxed);
    balance_ns_.store(min_of(max_of(balance, -kAllowanceNs), kMostBalanceNs),
                      std::memory_order_relaxed);
    return true;
  }
  balance_ns_.store(max_of(balance, -kAllowanceNs), std::memory_order_relaxed);
  if (balance >= -kAllowanceNs)
    return true;
  const uint64_t pause = pause_ns_.load(std::memory_order_relaxed);
  pause_ns_.store(min_of(2 * pause, kLongestPauseNs), std::memory_order_relaxed);
  pause_until_ns_.store(os_->now_ns() + pause, std::memory_order_relaxed);
  return false;
}

void FirstTouchCost::sample_one(char *start) {
  if (!os_ || sampled_.load(std::memory_order_relaxed) >= kMostSampled)
    return;
  sampled_.fetch_add(1, std::memory_order_relaxed);
  if (const uint64_t took = os_->populate_ns(start, kSuperpageBytes))
    count(took);
}

uint64_t FirstTouchCost::touch_some(char *start, uint64_t units, bool advise) {
  if (!os_)
    return units;
  const uint64_t most = min_of<uint64_t>(units, kMostUnits);
  for (uint64_t i = 0; i < most; i++) {
    char *unit = start + i * kSuperpageBytes;
    if (advise && os_->advise(unit, kSuperpageBytes, Advice::kSuperpages) != 0)
      return i;
    const uint64_t took = os_->populate_ns(unit, kSuperpageBytes);
    if (took == 0)
      break; // the kernel cannot populate: assume that it is cheap
    count(took);
    if (!account(took))
      return i + 1;
  }
  return units;
}

} // namespace smalloc
