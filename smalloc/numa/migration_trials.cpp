// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// migration_trials.cpp checks whether moves keep their promised saving. It remembers a sample of
// them and counts their accesses again in later intervals. If the saving does not come about,
// nothing moves for a while.
#include "smalloc/numa/migration_policy.h"

#include <algorithm>

namespace smalloc::numa {

uint32_t MigrationPolicy::count_of(const Unit &unit, uint16_t page, uint8_t node,
                                   unsigned keep256) {
  uint32_t sum = 0;
  const unsigned first = page == kWholeUnit ? 0 : page;
  for (unsigned p = first; p < (page == kWholeUnit ? kPagesPerUnit : first + 1u); p++)
    sum += unit.page[p].count(node) * keep256 / 256; // page by page, as each will age
  return sum;
}

void MigrationPolicy::remember(const Move &move) {
  const uint16_t page = move.action == Action::kMovePage ? move.page : kWholeUnit;
  trials_[trial_count_++] = {move.unit,
                             count_of(*move.unit, page, move.from, options_.keep256),
                             count_of(*move.unit, page, move.to, options_.keep256),
                             page,
                             move.from,
                             move.to,
                             move.saved_ns_interval,
                             0};
}

void MigrationPolicy::forget(const Unit &unit) {
  for (unsigned i = 0; i < trial_count_;)
    if (trials_[i].unit == &unit)
      trials_[i] = trials_[--trial_count_];
    else
      i++;
}

/// Returns a lower bound of the time that an interval's accesses take, estimated from the samples.
double MigrationPolicy::interval_ns() const {
  double samples = 0, least = latency(0, 0);
  for (unsigned n = 0; n < topology_.nodes; n++) {
    samples += load_[n];
    least = std::min(least, latency(n, n));
  }
  return accesses(samples) * least;
}

/// Compares what recent moves promised with what they brought in this interval. A broken promise
/// stops all moves for a while, four times as long each time. A program whose pages wander thus
/// pays for a few tries only.
void MigrationPolicy::evaluate_trials() {
  if (pause_ > 0) {
    trial_count_ = 0;
    evidence_ = {};
    if (--pause_ == 0)
      trust_ = 0.25;
    return;
  }
  // An unused page says nothing about its new place: keep its trial for up to three intervals.
  constexpr unsigned kMostWaits = 3;
  unsigned waiting = 0;
  for (unsigned i = 0; i < trial_count_; i++) {
    Trial t = trials_[i];
    const double near = static_cast<double>(count_of(*t.unit, t.page, t.to, 256)) - t.to_count;
    const double far = static_cast<double>(count_of(*t.unit, t.page, t.from, 256)) - t.from_count;
    if (near <= 0 && far <= 0) {
      t.to_count = count_of(*t.unit, t.page, t.to, options_.keep256);
      t.from_count = count_of(*t.unit, t.page, t.from, options_.keep256);
      if (t.waited++ < kMostWaits)
        trials_[waiting++] = t;
      continue;
    }
    evidence_.promised_ns += t.saved_ns;
    evidence_.seen += std::max(near, 0.0) + std::max(far, 0.0);
    // Limit each page's vote to its promise: one hot page that goes wrong must not outvote all
    // others.
    const double saved =
        (near - far) * options_.sample_period * (latency(t.to, t.from) - latency(t.to, t.to));
    evidence_.saved_ns += std::clamp<double>(saved, -t.saved_ns, t.saved_ns);
    evidence_.judged++;
  }
  constexpr double kConclusiveSamples = 16;
  constexpr unsigned kConclusiveTrials = 4; // fewer pages cost too little to justify a pause
  // A tiny promise is not conclusive either: the first pages to move are the hottest, often those
  // that all nodes share.
  constexpr double kConclusiveShare = 0.01; // of the time that all accesses take
  if (evidence_.seen >= kConclusiveSamples && evidence_.judged >= kConclusiveTrials &&
      evidence_.promised_ns > kConclusiveShare * interval_ns()) {
    double kept = std::clamp(evidence_.saved_ns / evidence_.promised_ns, 0.0, 1.0);
    trust_ = (trust_ + kept) / 2;
    evidence_ = {};
    constexpr double kBroken = 0.1, kWell = 0.5;
    if (kept < kBroken) {
      failures_ = std::min(failures_ + 1, 5u);
      pause_ = 1u << 2 * failures_;
      trust_ = 0;
    } else if (kept > kWell) {
      failures_ = 0;
    }
  } else {
    // With little trust too few pages move to show whether that is right, so trust recovers.
    constexpr double kBack = 1.0 / 8;
    trust_ += (1 - trust_) * kBack;
    evidence_.age();
  }
  // If the last interval had more moves than trials, sample only every trial_stride_-th move.
  trial_stride_ = 1 + carried_ / kTrials;
  trial_count_ = waiting;
  carried_ = 0;
}

} // namespace smalloc::numa
