// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// evaluation.cpp runs each mapping as a Lane over the batches. A lane sends each access to the
// array of the TLB that serves its page size. saving() estimates how exact the sum of a sample is.
#include "runtime/benefit/evaluation.h"

#include "runtime/benefit/array_misses.h"
#include "runtime/reuse/page_index.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <thread>

namespace smalloc::benefit {
namespace {

constexpr size_t kBatch = 1u << 18;
constexpr int kResamples = 200;
constexpr double kTwoSided90 = 1.645; // standard deviations

} // namespace

struct Evaluation::Lane {
  // Arrays by their owner, created at the first access: an empty one takes 150 KiB.
  using Tlb = std::array<std::unique_ptr<ArrayMisses>, kPageSizes>;
  Pages on;
  const CostModel &costs;
  const Sample sample;
  std::vector<Tlb> tlbs;
  reuse::PageIndex touched;            // pages that any of several TLBs has accessed
  std::array<bool, kPageSizes> used{}; // sizes that the mapping uses
  std::array<PageSize, kPageSizes>
      owners{};                  // smallest size of each size's array; its walk is priced
  std::vector<double> cycles_at; // after each batch
  bool sampled;                  // the trace is a sample of regions

  Lane(const CostModel &model, Pages pages, const Sample &of, uint32_t cores)
      : on(std::move(pages)), costs(model), sample(of), tlbs(cores), sampled(sample.rate < 1) {
    used[0] = true;
    for (const PageSize size : on)
      used[static_cast<size_t>(size)] = true;
    // The rest of an object beyond its whole GiB is on 2 MiB pages.
    used[static_cast<size_t>(PageSize::kSuper)] |= used[static_cast<size_t>(PageSize::kGigantic)];
    for (size_t i = 0; i < kPageSizes; i++) {
      if (!used[i])
        continue;
      const auto size = static_cast<PageSize>(i);
      owners[i] = size;
      // Nor can one list hold pages whose misses are recorded and pages whose misses are simulated.
      for (size_t smaller = sample.misses ? 1 : 0; smaller < i && !is_thinned(size); smaller++)
        if (used[smaller] && costs.owner(static_cast<PageSize>(smaller)) == costs.owner(size)) {
          owners[i] = static_cast<PageSize>(smaller);
          break;
        }
    }
  }
  Lane(const Lane &) = delete; // the arrays point to `touched`
  Lane &operator=(const Lane &) = delete;

  // True if a sample of regions thins out the accesses of each page. It holds some regions of every
  // GiB: each 1 GiB page is in it, and its accesses stand for others. No list can hold pages of
  // both kinds.
  bool is_thinned(PageSize size) const { return size == PageSize::kGigantic && sampled; }

  ArrayMisses &array_of(Tlb &tlb, PageSize size) {
    const PageSize owner = owners[static_cast<size_t>(size)];
    std::unique_ptr<ArrayMisses> &array = tlb[static_cast<size_t>(owner)];
    if (!array) {
      const bool thinned = is_thinned(owner);
      array = std::make_unique<ArrayMisses>(costs.array(owner), thinned ? 1 : sample.rate,
                                            thinned ? sample.weight / sample.rate : sample.weight,
                                            sample.misses && owner == PageSize::kBase,
                                            tlbs.size() > 1 ? &touched : nullptr);
    }
    return *array;
  }

  void run(const std::vector<Access> &batch) {
    for (const Access &a : batch) {
      PageSize size = a.category < on.size() ? on[a.category] : PageSize::kBase;
      if (size == PageSize::kGigantic && !a.in_gib)
        size = PageSize::kSuper;
      if (a.given_back) {
        if (size != PageSize::kBase)
          continue;
        for (const Tlb &tlb : tlbs)
          if (tlb[0])
            tlb[0]->run();
        for (const Tlb &tlb : tlbs)
          if (tlb[0])
            tlb[0]->forget(a.address >> 12, (a.packed + 4095) >> 12, size);
        continue;
      }
      // A category's own heap has a range of its own, which begins in any set.
      const uint64_t number = size == PageSize::kSuper && sampled && a.region != Objects::kSmall
                                  ? ArrayMisses::kByRegion + a.region
                                  : a.packed >> page_shift(size);
      const uint64_t page =
          size == PageSize::kBase
              ? a.address >> 12
              : ((uint64_t{a.category} + 1) << 32) + (reuse::mix(a.category) & 0xfffff) + number;
      array_of(tlbs[a.tlb], size)
          .add(page, size, a.walk, size == PageSize::kBase ? a.table_pages : 0);
    }
    for (const Tlb &tlb : tlbs)
      for (const auto &array : tlb)
        if (array)
          array->run();
  }
  void start_counting() {
    for (const Tlb &tlb : tlbs)
      for (const auto &array : tlb)
        if (array)
          array->start_counting();
    cycles_at.clear();
  }

  // Returns the pages of the categories' whole heaps, by size.
  std::array<double, kPageSizes> heap_pages(const std::vector<uint64_t> &heap_bytes,
                                            double touched_share) const {
    std::array<double, kPageSizes> pages{};
    for (size_t category = 0; category < heap_bytes.size(); category++) {
      const PageSize size = category < on.size() ? on[category] : PageSize::kBase;
      uint64_t bytes = heap_bytes[category];
      if (size == PageSize::kGigantic) {
        pages[static_cast<size_t>(size)] += static_cast<double>(bytes >> page_shift(size));
        bytes %= page_bytes(size);
      }
      const PageSize rest = size == PageSize::kGigantic ? PageSize::kSuper : size;
      pages[static_cast<size_t>(rest)] +=
          static_cast<double>((bytes + page_bytes(rest) - 1) >> page_shift(rest)) *
          (rest == PageSize::kBase ? touched_share : 1);
    }
    return pages;
  }

  Counts counts(const Faults &faults) const {
    Counts c;
    const auto whole = heap_pages(faults.heap_bytes, faults.touched_share),
               before = heap_pages(faults.heap_bytes_before, faults.touched_share);
    for (size_t category = 0; category < faults.second.size(); category++)
      if (category >= on.size() || on[category] == PageSize::kBase) {
        c.page_faults += faults.second[category];
        c.touch_cycles += faults.second[category] * costs.second_fault_cycles();
      }
    for (size_t i = 0; i < kPageSizes; i++) {
      const auto size = static_cast<PageSize>(i);
      if (!used[i])
        continue;
      double seen = 0, in_use = 0;
      for (const Tlb &tlb : tlbs)
        if (const auto &array = tlb[static_cast<size_t>(owners[i])]) {
          seen += array->pages(size);
          in_use += array->pages_in_use(size);
        }
      const double pages = std::max(in_use, whole[i]),
                   touched = faults.first_by_heaps ? std::max(whole[i] - before[i], 0.0) : seen;
      c.page_faults += touched;
      c.touch_cycles += touched * costs.fault_cycles(page_bytes(size));
      if (owners[i] != size)
        continue; // its misses are counted with its owner's
      std::vector<WalkCurve> curves;
      for (size_t walk = 0; walk < kWalks; walk++)
        curves.push_back(costs.walk_curve(page_bytes(size), static_cast<Walk>(walk)));
      for (const Tlb &tlb : tlbs) {
        if (!tlb[i])
          continue;
        const ArrayMisses::Cost cost = tlb[i]->cost(curves, std::max(pages, 1.0));
        c.tlb_misses += cost.misses;
        c.cycles += cost.cycles;
      }
    }
    c.cycles += c.touch_cycles;
    return c;
  }
};

Evaluation::Evaluation(const CostModel &costs, std::vector<Pages> mappings, Sample sample,
                       unsigned threads, Concurrency concurrency)
    : costs_(costs), sample_(sample),
      threads_(threads ? threads : std::max(1u, std::thread::hardware_concurrency())),
      overlaps_(std::move(concurrency.overlaps)), streams_(overlaps_.size() * concurrency.tlbs),
      streams_at_once_(concurrency.tlbs) {
  faults_.first_by_heaps = sample.misses;
  for (Pages &mapping : mappings)
    lanes_.push_back(std::make_unique<Lane>(costs, std::move(mapping), sample, concurrency.tlbs));
  // A PMU's samples are not chosen by regions, so the lines used between two of them are unknown.
  if (costs.knows_near() && sample.weight == 1 && !sample.misses)
    near_lines_.emplace(sample.rate);
}

Evaluation::~Evaluation() = default;

Walk Evaluation::walk_of(uint32_t category, uint64_t address, uint64_t repeats, bool near,
                         uint32_t tlb) {
  // Without a cost of overlapped walks all walks cost the same and need not be distinguished.
  if (category >= overlaps_.size() || !overlaps_[category] || !costs_.knows_overlapped())
    return Walk::kWaited;
  if (const uint64_t page = address >> 12;
      streams_[tlb * overlaps_.size() + category].goes_on(page, repeats + 1))
    return sequential(streams_at_once_[tlb].go_on(page));
  return near ? Walk::kNear : Walk::kOverlapped;
}

void Evaluation::access(uint64_t address, const Objects::Place &place, uint64_t repeats, bool write,
                        uint32_t tlb) {
  first_reads_.access(address, place.category, write);
  accesses_ += static_cast<double>(repeats + 1);
  if (sample_.rate < 1 && address >> 21 != last_region_) {
    last_region_ = address >> 21;
    regions_.insert(last_region_);
  }
  const Walk walk =
      walk_of(place.category, address, repeats, near_lines_ && near_lines_->has(address), tlb);
  uint32_t table_pages = 0;
  if (walk == Walk::kNear)
    table_pages = table_lines_.pages_since(address >> 12);
  else if (near_lines_)
    table_lines_.use(address >> 12);
  batch_.push_back({address, place.packed, place.category, place.in_gib, false, walk, table_pages,
                    tlb, place.region});
  if (batch_.size() == kBatch)
    run_batch();
}

void Evaluation::given_back(uint64_t start, uint64_t end, uint32_t category) {
  first_reads_.given_back(start, end);
  batch_.push_back({start, end, category, false, true, Walk::kWaited, 0, 0, Objects::kSmall});
  if (batch_.size() == kBatch)
    run_batch();
}

// Runs all lanes over the batch. An exception of a lane, most often for lack of memory, is thrown
// here once all have ended. If no thread can be created, the lanes run one after the other.
void Evaluation::run_batch() {
  std::vector<std::exception_ptr> thrown(std::max(threads_, 1u));
  const auto work = [&](unsigned first) {
    try {
      for (size_t i = first; i < lanes_.size(); i += threads_) {
        lanes_[i]->run(batch_);
        lanes_[i]->cycles_at.push_back(counts(i).cycles);
      }
    } catch (...) {
      thrown[first] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    others.reserve(threads_);
    for (unsigned t = 1; t < threads_ && t < lanes_.size(); t++) {
      try {
        others.emplace_back(work, t);
      } catch (const std::system_error &) {
        work(t);
      }
    }
    work(0);
  }
  for (const std::exception_ptr &exception : thrown)
    if (exception)
      std::rethrow_exception(exception);
  batch_.clear();
}

void Evaluation::start_counting() {
  if (!batch_.empty())
    run_batch();
  for (const auto &lane : lanes_)
    lane->start_counting();
  accesses_ = 0;
  regions_.clear();
  last_region_ = UINT64_MAX;
}

void Evaluation::finish(double faults, std::vector<uint64_t> heap_bytes,
                        std::vector<uint64_t> heap_bytes_before) {
  if (!batch_.empty())
    run_batch();
  if (sample_.misses) {
    faults_.heap_bytes = std::move(heap_bytes);
    faults_.heap_bytes_before = std::move(heap_bytes_before);
    double pages = 0;
    for (const uint64_t bytes : faults_.heap_bytes)
      pages += static_cast<double>((bytes + kBasePageBytes - 1) / kBasePageBytes);
    if (faults > 0 && faults < pages)
      faults_.touched_share = faults / pages;
    for (size_t i = 0; i < lanes_.size(); i++)
      if (!lanes_[i]->cycles_at.empty())
        lanes_[i]->cycles_at.back() = counts(i).cycles;
    return;
  }
  // A sample does not give the first touches exactly enough: the second faults would be unknown to
  // a tenth.
  if (faults <= 0 || sample_.rate < 1 || sample_.weight != 1)
    return;
  faults_.second = first_reads_.second_faults(faults);
  for (size_t i = 0; i < lanes_.size(); i++)
    if (!lanes_[i]->cycles_at.empty())
      lanes_[i]->cycles_at.back() = counts(i).cycles;
}

Counts Evaluation::counts(size_t mapping) const { return lanes_[mapping]->counts(faults_); }

Evaluation::Saving Evaluation::saving(size_t a, size_t b) const {
  const auto &before = lanes_[a]->cycles_at, &after = lanes_[b]->cycles_at;
  if (before.empty())
    return {0, 0, 0};
  const double cycles = before.back() - after.back();
  if (sample_.rate >= 1 && sample_.weight == 1)
    return {cycles, cycles, cycles}; // nothing was sampled
  if (sample_.weight != 1) {
    // The number of a PMU's samples in the saving varies as if they came independently (Poisson).
    const double told = std::abs(counts(a).tlb_misses - counts(b).tlb_misses) / sample_.weight;
    const double drawn = kTwoSided90 * std::abs(cycles) / // by 1 / sqrt(samples)
                         std::sqrt(std::max(told, 1.0));
    return {cycles, cycles - drawn, cycles + drawn};
  }
  std::vector<double> saved; // by batch
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
  // Batches show what differs in time, and a few batches show nothing. The regions are what was
  // drawn: their number says at least how far another draw of as many may differ.
  const double drawn =
      regions_.empty() ? 0
                       : kTwoSided90 * std::abs(cycles) *
                             std::sqrt((1 - sample_.rate) / static_cast<double>(regions_.size()));
  return {cycles, std::min(cycles - drawn, sums[kResamples / 20]),
          std::max(cycles + drawn, sums[kResamples - 1 - kResamples / 20])};
}

} // namespace smalloc::benefit
