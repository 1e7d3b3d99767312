// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// aet.cpp solves the model's equation. P is a step function over the histogram's bins (linear
// inside one). Its sum is tabulated at the bins' borders, and T is found by bisection.
#include "runtime/reuse/aet.h"

#include <algorithm>

namespace smalloc::reuse {
namespace {

// P(t) and its sum from 0 to t, of one thread.
class Survival {
public:
  explicit Survival(const Histogram &times) : total_(times.total()) {
    double later = total_, area = 0;
    uint64_t from = 0;
    for (size_t i = 0; i < times.bins(); i++) {
      const Histogram::Bin bin = times.bin(i);
      if (bin.weight == 0)
        continue;
      // Accesses of time t survive t - 1 steps: a bin [low, high) ends between low and high - 1.
      const auto low = static_cast<double>(bin.low), high = static_cast<double>(bin.high - 1);
      area += (low - static_cast<double>(from)) * later / total_;
      steps_.push_back({low, later / total_, area});
      later -= bin.weight;
      area += (high - low) * (later + bin.weight / 2) / total_;
      steps_.push_back({high, later / total_, area});
      from = bin.high - 1;
    }
    cold_ = times.cold() / std::max(total_, 1e-300);
  }
  double total() const { return total_; }
  // Returns the share of accesses whose page is not used again within t.
  double share(double t) const {
    const Step *step = at(t);
    return step ? step->share : 1;
  }
  double area(double t) const {
    const Step *step = at(t);
    if (!step)
      return t;
    return step->area + (t - step->time) * step->share;
  }
  double cold() const { return cold_; }
  double last_time() const { return steps_.empty() ? 0 : steps_.back().time; }

private:
  struct Step {
    double time, share, area; // from `time` on
  };
  const Step *at(double t) const {
    const auto next = std::upper_bound(steps_.begin(), steps_.end(), t,
                                       [](double value, const Step &s) { return value < s.time; });
    return next == steps_.begin() ? nullptr : &*std::prev(next);
  }
  std::vector<Step> steps_;
  double total_, cold_ = 0;
};

} // namespace

void Aet::access(std::span<const uint64_t> pages) {
  index_.at_each(pages, [this](uint32_t &number) {
    now_++;
    if (number == PageIndex::kAbsent) {
      number = static_cast<uint32_t>(last_.size());
      last_.push_back(now_);
      times_.add_cold();
      return;
    }
    times_.add(now_ - last_[number]);
    last_[number] = now_;
  });
}

double Aet::misses(uint64_t capacity) const {
  const Histogram *one[] = {&times_};
  return composed_miss_ratio(one, capacity) * accesses();
}

size_t Aet::memory_bytes() const {
  return index_.memory_bytes() + last_.capacity() * sizeof(uint64_t) + times_.memory_bytes();
}

double composed_miss_ratio(std::span<const Histogram *const> threads, uint64_t capacity) {
  std::vector<Survival> parts;
  double all = 0, longest = 1;
  for (const Histogram *times : threads) {
    parts.emplace_back(*times);
    all += parts.back().total();
  }
  if (all <= 0)
    return 0;
  for (const Survival &part : parts)
    if (part.total() > 0)
      longest = std::max(longest, (part.last_time() + 1) * all / part.total());
  const auto sum = [&](double t, bool area) {
    double value = 0;
    for (const Survival &part : parts) {
      const double share = part.total() / all;
      if (share > 0)
        value += area ? part.area(t * share) : share * part.share(t * share);
    }
    return value;
  };
  const auto wanted = static_cast<double>(capacity);
  double low = 0, high = longest;
  if (sum(high, true) < wanted) // everything fits: only first accesses miss
    return sum(high, false);
  while (high - low > 0.5 && high - low > 1e-9 * high) {
    const double middle = (low + high) / 2;
    (sum(middle, true) < wanted ? low : high) = middle;
  }
  return sum(low, false);
}

} // namespace smalloc::reuse
