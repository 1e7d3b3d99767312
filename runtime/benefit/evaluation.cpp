// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// evaluation.cpp decides how a TLB's sets are counted: one by one where every access is in the trace, by the binomial
// correction (reuse/associativity.h) where it is a sample; and the capacities that stand for a histogram then: enough of them
// around the TLB's size that the correction has something to work on. First touches are counted apart, since LRU lists of
// bounded length forget pages.
#include "runtime/benefit/evaluation.h"
#include "runtime/reuse/associativity.h"
#include "runtime/reuse/marker_list.h"
#include "runtime/reuse/set_lists.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <thread>

namespace smalloc::benefit {
namespace {

constexpr size_t kBatch = 1u << 18;
constexpr int kResamples = 200;
constexpr double kSteps[] = {0.0625, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1,
                             1.125,  1.25,  1.5,  1.75,  2,   2.5,   3,    4,     8};

// Of a page's number: whether it is a superpage. The set does not depend on it.
constexpr unsigned kSizeBits = 1;

// One TLB array under one mapping.
class Array {
public:
  Array(const TlbArray &tlb, double rate) : tlb_(tlb), rate_(rate) {
    if (rate == 1 && tlb.ways != 0 && tlb.ways != tlb.entries)
      sets_.emplace(tlb.entries, tlb.ways, kSizeBits);
    else
      list_.emplace(capacities(tlb, rate), 0);
  }

  void add(uint64_t page) {
    pages_.push_back(page);
    uint32_t &seen = touched_.at(page);
    if (seen == reuse::PageIndex::kAbsent) {
      seen = 0;
      (page & 1 ? superpages_ : base_pages_)++;
    }
  }
  void run() {
    if (sets_)
      sets_->access(pages_);
    else
      list_->access(pages_);
    pages_.clear();
  }
  double base_pages() const { return static_cast<double>(base_pages_) / rate_; }
  double superpages() const { return static_cast<double>(superpages_) / rate_; }

  // Misses in the whole program, first touches included.
  double misses() const {
    if (sets_)
      return sets_->misses();
    // Between two capacities the distances are spread evenly.
    reuse::Histogram h;
    double above = list_->accesses();
    uint64_t low = 0;
    for (uint64_t capacity : capacities(tlb_, rate_)) {
      const double beyond = list_->misses(capacity);
      spread(h, low, capacity, above - beyond);
      above = beyond;
      low = capacity;
    }
    h.add_cold(above);
    const double cold = static_cast<double>(base_pages_ + superpages_);
    return std::max(reuse::misses_in_sets(h, tlb_.entries, tlb_.ways), cold) / rate_;
  }

private:
  static std::vector<uint64_t> capacities(const TlbArray &tlb, double rate) {
    std::vector<uint64_t> list;
    for (double step : kSteps) {
      const auto kept =
          static_cast<uint64_t>(std::lround(step * static_cast<double>(tlb.entries) * rate));
      if (kept > 0 && (list.empty() || kept > list.back()))
        list.push_back(kept);
    }
    if (list.empty())
      list.push_back(1);
    return list;
  }
  // Distances of the sample stand for distance / rate in the program.
  void spread(reuse::Histogram &h, uint64_t low, uint64_t high, double weight) const {
    constexpr int kParts = 16;
    if (weight <= 0)
      return;
    for (int i = 0; i < kParts; i++)
      h.add(static_cast<uint64_t>(
                (static_cast<double>(low) + static_cast<double>(high - low) * (i + 0.5) / kParts) /
                rate_),
            weight / kParts);
  }

  TlbArray tlb_;
  double rate_;
  std::optional<reuse::MarkerList> list_;
  std::optional<reuse::SetLists> sets_;
  reuse::PageIndex touched_;
  std::vector<uint64_t> pages_;
  uint64_t base_pages_ = 0, superpages_ = 0;
};

} // namespace

struct Evaluation::Lane {
  std::vector<bool> on_superpages;
  Array base, superpage;
  bool shared;
  std::vector<double> cycles_at; // after each batch

  bool is_super(uint32_t category) const {
    return category < on_superpages.size() && on_superpages[category];
  }
  void run(const std::vector<Access> &batch) {
    for (const Access &a : batch) {
      // The lowest bit tells the sizes apart; a category's own heap is in a range of its own, which begins in any set.
      if (is_super(a.category))
        (shared ? base : superpage)
            .add((((uint64_t{a.category} + 1) << 32) + (reuse::mix(a.category) & 0xfffff) +
                  (a.packed >> 21))
                     << kSizeBits |
                 1);
      else
        base.add((a.address >> 12) << kSizeBits);
    }
    base.run();
    superpage.run();
  }
  Counts counts(const CostModel &costs) const {
    Counts c;
    const double super_pages = base.superpages() + superpage.superpages();
    const double base_misses = base.misses(), super_misses = superpage.misses();
    const double in_use = base.base_pages() + super_pages;
    c.tlb_misses = base_misses + super_misses;
    c.page_faults = in_use;
    c.cycles = base_misses * costs.miss_cycles(kBasePageBytes, std::max(base.base_pages(), 1.0)) +
               super_misses * costs.miss_cycles(kSuperpageBytes, std::max(super_pages, 1.0)) +
               base.base_pages() * costs.fault_cycles(kBasePageBytes) +
               super_pages * costs.fault_cycles(kSuperpageBytes);
    return c;
  }
};

Evaluation::Evaluation(const CostModel &costs, std::vector<std::vector<bool>> mappings, double rate,
                       unsigned threads)
    : costs_(costs), rate_(rate),
      threads_(threads ? threads : std::max(1u, std::thread::hardware_concurrency())) {
  for (std::vector<bool> &mapping : mappings)
    lanes_.push_back(std::make_unique<Lane>(Lane{std::move(mapping),
                                                 Array(costs.base(), rate),
                                                 Array(costs.superpage(), rate),
                                                 costs.shared(),
                                                 {}}));
}

Evaluation::~Evaluation() = default;

void Evaluation::access(uint64_t address, uint64_t packed, uint32_t category, uint64_t repeats) {
  accesses_ += static_cast<double>(repeats + 1);
  batch_.push_back({address, packed, category});
  if (batch_.size() == kBatch)
    run_batch();
}

void Evaluation::run_batch() {
  const auto work = [this](unsigned first) {
    for (size_t i = first; i < lanes_.size(); i += threads_) {
      lanes_[i]->run(batch_);
      lanes_[i]->cycles_at.push_back(lanes_[i]->counts(costs_).cycles);
    }
  };
  std::vector<std::thread> others;
  for (unsigned t = 1; t < threads_ && t < lanes_.size(); t++)
    others.emplace_back(work, t);
  work(0);
  for (std::thread &t : others)
    t.join();
  batch_.clear();
}

void Evaluation::finish() {
  if (!batch_.empty())
    run_batch();
}

Counts Evaluation::counts(size_t mapping) const { return lanes_[mapping]->counts(costs_); }

Evaluation::Saving Evaluation::saving(size_t a, size_t b) const {
  const auto &before = lanes_[a]->cycles_at, &after = lanes_[b]->cycles_at;
  if (before.empty())
    return {0, 0, 0};
  const double cycles = before.back() - after.back();
  if (rate_ >= 1)
    return {cycles, cycles, cycles}; // nothing was left to chance
  std::vector<double> saved;         // by batch
  for (size_t i = 0; i < before.size(); i++)
    saved.push_back((before[i] - after[i]) - (i ? before[i - 1] - after[i - 1] : 0));
  std::mt19937_64 random(1); // the same trace gives the same answer
  std::vector<double> sums;
  for (int r = 0; r < kResamples; r++) {
    double sum = 0;
    for (size_t i = 0; i < saved.size(); i++)
      sum += saved[random() % saved.size()];
    sums.push_back(sum);
  }
  std::sort(sums.begin(), sums.end());
  return {cycles, std::min(cycles, sums[kResamples / 20]),
          std::max(cycles, sums[kResamples - 1 - kResamples / 20])};
}

} // namespace smalloc::benefit
