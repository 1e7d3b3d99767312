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
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <random>
#include <thread>

namespace smalloc::benefit {
namespace {

constexpr size_t kBatch = 1u << 18;
constexpr int kResamples = 200;
constexpr double kTwoSided90 = 1.645; // standard deviations
constexpr double kSteps[] = {0.0625, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1,
                             1.125,  1.25,  1.5,  1.75,  2,   2.5,   3,    4,     8};

// Above a page's number: its PageSize, so that neighbours stay neighbours for the index. Sets are chosen by the lowest bits, above
// which the size has to be there.
constexpr unsigned kSizeShift = 60, kSizeBits = 2;
constexpr uint64_t kNumberMask = (uint64_t{1} << kSizeShift) - 1;

// One TLB array under one mapping.
class Array {
public:
  /// rate: share of the pages that are in the trace; weight: accesses that each one stands for.
  /// all_miss: nothing is looked up.
  Array(const TlbArray &tlb, double rate, double weight, bool all_miss = false)
      : tlb_(tlb), rate_(rate), weight_(weight), all_miss_(all_miss) {
    if (rate == 1 && weight == 1 && tlb.ways != 0 && tlb.ways != tlb.entries)
      sets_.emplace(tlb.entries, tlb.ways, kSizeBits);
    else
      list_.emplace(capacities(tlb, rate));
    for (uint64_t capacity : capacities(tlb, rate))
      if (!middle_ || static_cast<double>(capacity) <= static_cast<double>(tlb.entries) * rate)
        middle_ = capacity;
  }

  void add(uint64_t page, PageSize size, bool overlaps) {
    if (pages_.empty() || overlaps != last_overlaps_)
      pieces_.push_back({pages_.size(), overlaps});
    last_overlaps_ = overlaps;
    pages_.push_back(page | static_cast<uint64_t>(size) << kSizeShift);
  }
  void run() {
    accesses_ += static_cast<double>(pages_.size());
    size_t i = 0;
    touched_.at_each(pages_, [&](uint32_t &seen) {
      if (seen == reuse::PageIndex::kAbsent) {
        seen = 0;
        touched_pages_[pages_[i] >> kSizeShift]++;
      }
      i++;
    });
    if (sets_)
      for (uint64_t &page : pages_)
        page = (page & kNumberMask) << kSizeBits | page >> kSizeShift;
    for (size_t piece = 0; piece < pieces_.size(); piece++) {
      const auto [begin, overlaps] = pieces_[piece];
      const size_t end = piece + 1 < pieces_.size() ? pieces_[piece + 1].begin : pages_.size();
      const double before = missed();
      if (sets_ && !all_miss_)
        sets_->access(std::span(pages_).subspan(begin, end - begin));
      else if (!all_miss_)
        list_->access(std::span(pages_).subspan(begin, end - begin));
      // Where all misses are told there is nothing to look up: each access is one.
      const double now = all_miss_ ? static_cast<double>(end - begin) : missed() - before;
      (overlaps ? overlapped_ : waited_for_) += now;
    }
    pieces_.clear();
    pages_.clear();
  }
  /// Of the misses, those of accesses that wait for no other.
  double overlapped_share() const {
    const double all = overlapped_ + waited_for_;
    return all > 0 ? overlapped_ / all : 0;
  }
  /// In the whole program. A superpage of a category's own heap holds parts of two regions of the addresses that were recorded: its
  /// objects begin anywhere. So it is in the sample when either is.
  double pages(PageSize size) const {
    const double kept = size == PageSize::kSuper ? 1 - (1 - rate_) * (1 - rate_) : rate_;
    return static_cast<double>(touched_pages_[static_cast<size_t>(size)]) / kept;
  }

  // Misses in the whole program, first touches included.
  double misses() const {
    if (all_miss_)
      return accesses_ * weight_ / rate_;
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
    const auto cold = static_cast<double>(
        std::accumulate(touched_pages_.begin(), touched_pages_.end(), uint64_t{0}));
    // A first touch is one, however many accesses each stands for.
    const double again =
        std::max(reuse::misses_in_sets(h, tlb_.entries, tlb_.ways) - cold, 0.0) * weight_;
    return (again + cold) / rate_;
  }

private:
  /// So far, in the sample, as if it were fully associative where a list counts.
  double missed() const { return all_miss_ ? 0 : sets_ ? sets_->misses() : list_->misses(middle_); }
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
  double rate_, weight_, accesses_ = 0;
  bool all_miss_;
  std::optional<reuse::MarkerList> list_;
  std::optional<reuse::SetLists> sets_;
  reuse::PageIndex touched_;
  std::vector<uint64_t> pages_;
  struct Piece { ///< of pages_: accesses of one kind
    size_t begin;
    bool overlaps;
  };
  std::vector<Piece> pieces_;
  bool last_overlaps_ = false;
  uint64_t middle_ = 0; ///< the largest capacity that the entries hold
  double overlapped_ = 0, waited_for_ = 0;
  std::array<uint64_t, kPageSizes> touched_pages_{};
};

} // namespace

struct Evaluation::Lane {
  Pages on;
  std::vector<std::unique_ptr<Array>> arrays; // that the mapping uses
  std::array<Array *, kPageSizes> by_size{}; // where pages of each size go; nullptr: there are none
  std::array<PageSize, kPageSizes>
      owners{};                  // of a size's array: its smallest size, whose walk is priced
  std::vector<double> cycles_at; // after each batch

  Lane(const CostModel &costs, Pages pages, const Sample &sample) : on(std::move(pages)) {
    std::array<bool, kPageSizes> used{true};
    for (const PageSize size : on)
      used[static_cast<size_t>(size)] = true;
    // What is no whole GiB is on 2 MiB pages.
    used[static_cast<size_t>(PageSize::kSuper)] |= used[static_cast<size_t>(PageSize::kGigantic)];
    for (size_t i = 0; i < kPageSizes; i++) {
      if (!used[i])
        continue;
      const auto size = static_cast<PageSize>(i);
      // Of a GiB a sample of regions holds some, so that every such page is there, and its accesses stand for others: no list
      // can hold pages of both kinds.
      const bool thinned = size == PageSize::kGigantic && sample.rate < 1;
      owners[i] = size;
      // Nor pages whose misses are told and pages whose misses are looked for.
      for (size_t smaller = sample.misses ? 1 : 0; smaller < i && !thinned; smaller++)
        if (used[smaller] && costs.owner(static_cast<PageSize>(smaller)) == costs.owner(size)) {
          owners[i] = static_cast<PageSize>(smaller);
          break;
        }
      if (!by_size[static_cast<size_t>(owners[i])]) {
        arrays.push_back(
            std::make_unique<Array>(costs.array(size), thinned ? 1 : sample.rate,
                                    thinned ? sample.weight / sample.rate : sample.weight,
                                    sample.misses && size == PageSize::kBase));
        by_size[static_cast<size_t>(owners[i])] = arrays.back().get();
      }
      by_size[i] = by_size[static_cast<size_t>(owners[i])];
    }
  }

  void run(const std::vector<Access> &batch) {
    for (const Access &a : batch) {
      PageSize size = a.category < on.size() ? on[a.category] : PageSize::kBase;
      if (size == PageSize::kGigantic && !a.in_gib)
        size = PageSize::kSuper;
      // A category's own heap is in a range of its own, which begins in any set.
      const uint64_t page = size == PageSize::kBase ? a.address >> 12
                                                    : ((uint64_t{a.category} + 1) << 32) +
                                                          (reuse::mix(a.category) & 0xfffff) +
                                                          (a.packed >> page_shift(size));
      by_size[static_cast<size_t>(size)]->add(page, size, a.overlaps);
    }
    for (const auto &array : arrays)
      array->run();
  }
  Counts counts(const CostModel &costs) const {
    Counts c;
    for (size_t i = 0; i < kPageSizes; i++) {
      const auto size = static_cast<PageSize>(i);
      if (!by_size[i])
        continue;
      const double pages = by_size[i]->pages(size);
      c.page_faults += pages;
      c.cycles += pages * costs.fault_cycles(page_bytes(size));
      if (owners[i] != size)
        continue; // counted with its owner's
      const double misses = by_size[i]->misses();
      c.tlb_misses += misses;
      const double overlapped = misses * by_size[i]->overlapped_share();
      const auto cost = [&](bool overlaps) {
        return costs.miss_cycles(page_bytes(size), std::max(pages, 1.0), overlaps);
      };
      c.cycles += overlapped * cost(true) + (misses - overlapped) * cost(false);
    }
    return c;
  }
};

Evaluation::Evaluation(const CostModel &costs, std::vector<Pages> mappings, Sample sample,
                       unsigned threads, std::vector<bool> overlaps)
    : costs_(costs), sample_(sample),
      threads_(threads ? threads : std::max(1u, std::thread::hardware_concurrency())),
      overlaps_(std::move(overlaps)) {
  for (Pages &mapping : mappings)
    lanes_.push_back(std::make_unique<Lane>(costs, std::move(mapping), sample));
}

Evaluation::~Evaluation() = default;

void Evaluation::access(uint64_t address, uint64_t packed, uint32_t category, uint64_t repeats,
                        bool in_gib) {
  accesses_ += static_cast<double>(repeats + 1);
  if (sample_.rate < 1 && address >> 21 != last_region_) {
    last_region_ = address >> 21;
    regions_.insert(last_region_);
  }
  // Where both cost the same nothing is kept apart.
  const bool overlaps =
      category < overlaps_.size() && overlaps_[category] && costs_.knows_overlapped();
  batch_.push_back({address, packed, category, in_gib, overlaps});
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
  if (sample_.rate >= 1 && sample_.weight == 1)
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
  // Batches tell what differs in time, and few of them nothing. The regions are what was drawn: at least their number says how far
  // another draw of as many may lie.
  const double drawn =
      regions_.empty() ? 0
                       : kTwoSided90 * std::abs(cycles) *
                             std::sqrt((1 - sample_.rate) / static_cast<double>(regions_.size()));
  return {cycles, std::min(cycles - drawn, sums[kResamples / 20]),
          std::max(cycles + drawn, sums[kResamples - 1 - kResamples / 20])};
}

} // namespace smalloc::benefit
