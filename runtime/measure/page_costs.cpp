// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// page_costs.cpp times first touch, collapse, streams and prefetching for each page size.
#include "runtime/measure/page_costs.h"

#include "runtime/measure/curve.h"
#include "runtime/measure/page_region.h"
#include "runtime/measure/prefetch.h"
#include "runtime/measure/ticks.h"
#include "smalloc/base/clock.h"

#include <algorithm>
#include <memory>
#include <optional>

#include <sys/mman.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

namespace smalloc::calibrate {
namespace {

constexpr unsigned kUnitsCollapsed = 8, kBandwidthPasses = 15, kTouchPasses = 6;

// Returns the CPU time of this thread: other processes on the same processor do not count.
uint64_t cpu_ns() { return clock_ns(CLOCK_THREAD_CPUTIME_ID); }

class Costs {
public:
  explicit Costs(const PageCostsPlan &plan) : plan_(plan) {}

  PageCosts run() {
    const uint64_t base = base_page_bytes();
    first_touch(base);
    read_first(base);
    if (plan_.superpage_bytes) {
      first_touch(plan_.superpage_bytes);
      plan_.progress(0.2);
      collapse();
    }
    for (uint64_t page : plan_.other_bytes)
      first_touch(page);
    plan_.progress(0.3);
    bandwidths();
    plan_.progress(0.7);
    PageRegion base_pages(plan_.memory_bytes, base);
    if (plan_.superpage_bytes) {
      PageRegion superpages(plan_.memory_bytes, plan_.superpage_bytes);
      prefetch(superpages, base_pages);
    } else {
      prefetch(base_pages, base_pages);
    }
    plan_.progress(1);
    return std::move(result_);
  }

private:
  double nanoseconds(uint64_t ticks) const {
    return static_cast<double>(ticks) / plan_.ticks_per_second * 1e9;
  }

  // Times the mapping of a region of 1 GiB pages, since the mapping allocates the pages.
  void first_touch_of_giants() {
    std::vector<double> costs;
    for (unsigned pass = 0; pass < 3; pass++) {
      const uint64_t before = ticks();
      const PageRegion region(kGiantPage, kGiantPage);
      if (region.size() && pass) // the first pass makes the host find the memory
        costs.push_back(nanoseconds(ticks() - before));
    }
    if (!costs.empty())
      result_.first_touch_ns.push_back({kGiantPage, quartiles(std::move(costs))});
  }

  // Times the first touch of a page with all that a program pays for it. That is the page fault,
  // the kernel's clearing, the data that clearing evicts from the caches, and the release at the
  // end. The value is the time to fill and unmap fresh memory, minus the time to fill it once more.
  // The memory is larger than the caches.
  void first_touch(uint64_t page) {
    if (page >= kGiantPage)
      return first_touch_of_giants();
    const bool medium = page > base_page_bytes() && page != plan_.superpage_bytes;
    std::vector<double> costs;
    for (unsigned pass = 0; pass < kTouchPasses; pass++) {
      std::optional<PageRegion> region(std::in_place, plan_.memory_bytes, page);
      if (!region->size() || (medium && !region->is_given()))
        return;
      if (medium)
        region->drop();
      const uint64_t pages = region->pages();
      const auto fill = [&] {
        const uint64_t before = cpu_ns();
        for (uint64_t k = 0; k < pages; k++)
          std::fill_n(reinterpret_cast<uint64_t *>(region->page(k)), page / 8, k);
        return cpu_ns() - before;
      };
      const uint64_t first = fill(), again = fill();
      if (page == plan_.superpage_bytes && region->superpage_bytes() < region->size() / 2) {
        result_.unknown.push_back(
            "first touch of superpages: unknown (the kernel gave none at first touch)");
        return;
      }
      const uint64_t before = cpu_ns();
      region.reset();
      const uint64_t release = cpu_ns() - before, once = first + release;
      if (pass) // the first pass makes the host find the memory
        costs.push_back(static_cast<double>(once > again ? once - again : 0) /
                        static_cast<double>(pages));
    }
    result_.first_touch_ns.push_back({page, quartiles(std::move(costs))});
  }

  // Times the second fault of a page that is read before it is written. Two regions of the same
  // size take turns, one written at once and one read first; their difference is the cost.
  void read_first(uint64_t page) {
    std::vector<double> costs;
    for (unsigned pass = 0; pass < kTouchPasses; pass++) {
      double spent[2] = {0, 0};
      for (const bool reads : {false, true}) {
        const PageRegion region(plan_.memory_bytes, page);
        if (!region.size())
          return;
        const uint64_t before = cpu_ns();
        for (uint64_t k = 0; reads && k < region.pages(); k++)
          (void)*static_cast<const volatile char *>(region.page(k));
        for (uint64_t k = 0; k < region.pages(); k++)
          *static_cast<volatile char *>(region.page(k)) = 1;
        spent[reads] = static_cast<double>(cpu_ns() - before) / static_cast<double>(region.pages());
      }
      if (pass) // the first pass makes the host find the memory
        costs.push_back(std::max(spent[1] - spent[0], 0.0));
    }
    result_.read_first_ns = quartiles(std::move(costs));
  }

  void collapse() {
    const uint64_t page = plan_.superpage_bytes;
    PageRegion units(kUnitsCollapsed * page, page);
    if (!units.size())
      return;
    // First make base pages by advice, then allow superpages: the collapse refuses regions with
    // MADV_NOHUGEPAGE.
    madvise(units.data(), units.size(), MADV_NOHUGEPAGE);
    std::fill_n(units.data(), units.size(), 1);
    units.drop();
    std::fill_n(units.data(), units.size(), 1);
    madvise(units.data(), units.size(), MADV_HUGEPAGE);
    std::vector<double> costs;
    for (unsigned i = 0; i < kUnitsCollapsed; i++) {
      const uint64_t before = ticks();
      if (madvise(units.data() + i * page, page, MADV_COLLAPSE) == 0)
        costs.push_back(nanoseconds(ticks() - before));
    }
    if (costs.size() * 2 > kUnitsCollapsed)
      result_.collapse_ns = quartiles(std::move(costs));
    else
      result_.unknown.push_back("collapse: unknown (the kernel refuses it)");
  }

  // Measures the bandwidth with all page sizes in turn; the difference is what larger pages save a
  // stream. The memory is large, because a last-level cache keeps part of a buffer that is not many
  // times larger.
  void bandwidths() {
    std::vector<std::unique_ptr<PageRegion>> regions;
    const auto add = [&](uint64_t page) {
      auto region = std::make_unique<PageRegion>(std::max(plan_.stream_bytes, page), page);
      const bool medium = page > base_page_bytes() && page != plan_.superpage_bytes;
      if (region->size() && (!medium || region->is_given()))
        regions.push_back(std::move(region));
    };
    add(base_page_bytes());
    for (uint64_t page : plan_.other_bytes)
      add(page);
    if (plan_.superpage_bytes)
      add(plan_.superpage_bytes);
    bandwidth(regions);
  }

  // Reads the region once, in order; returns bytes per second.
  double read_rate(const PageRegion &region) const {
    const uint64_t before = ticks();
    // Four sums, because one chain of additions would be the limit.
    const auto *word = reinterpret_cast<const uint64_t *>(region.data());
    uint64_t sums[4] = {0, 0, 0, 0};
    for (size_t i = 0; i + 8 <= region.size() / 8; i += 8)
      for (size_t k = 0; k < 8; k++)
        sums[k % 4] += word[i + k];
    uint64_t sum = sums[0] + sums[1] + sums[2] + sums[3];
    __asm__ volatile("" : "+r"(sum));
    return static_cast<double>(region.size()) / nanoseconds(ticks() - before) * 1e9;
  }

  void bandwidth(const std::vector<std::unique_ptr<PageRegion>> &regions) {
    for (const auto &region : regions)
      std::fill_n(region->data(), region->size(), 0);
    std::vector<std::vector<double>> rates(regions.size());
    for (unsigned pass = 0; pass < kBandwidthPasses; pass++)
      for (size_t i = 0; i < regions.size(); i++)
        rates[i].push_back(read_rate(*regions[i]));
    for (size_t i = 0; i < regions.size(); i++) {
      std::sort(rates[i].begin(), rates[i].end());
      // Other processes only make a pass slower, so the best pass is the value.
      result_.bandwidth_bytes_per_second.push_back(
          {regions[i]->page_bytes(),
           {rates[i].back(), rates[i][rates[i].size() / 2], rates[i].back()}});
    }
  }

  void prefetch(PageRegion &region, PageRegion &evicts) {
    const PrefetchLatencies found = measure_prefetch(region, evicts, plan_.cycles_per_tick);
    if (found.random_cycles <= 0) {
      result_.unknown.push_back("prefetched stride: unknown (no memory for it)");
      return;
    }
    result_.prefetch_max_stride_bytes = largest_covered_stride(found.strides, found.random_cycles);
    result_.prefetch_crosses_page = found.next_page_cycles < 0.8 * found.random_page_cycles;
  }

  const PageCostsPlan &plan_;
  PageCosts result_;
};

} // namespace

Estimate quartiles(std::vector<double> values) {
  if (values.empty())
    return {};
  std::sort(values.begin(), values.end());
  return {median(values), values[values.size() / 4], values[values.size() * 3 / 4]};
}

uint64_t largest_covered_stride(std::span<const StrideLatency> strides, double random_cycles) {
  std::vector<double> near;
  for (const StrideLatency &stride : strides.first(std::min<size_t>(strides.size(), 4)))
    near.push_back(stride.cycles);
  const double limit = std::min(2 * median(std::move(near)), random_cycles / 2);
  uint64_t largest = 0;
  for (const StrideLatency &stride : strides) {
    if (stride.cycles >= limit)
      break;
    largest = stride.stride_bytes;
  }
  return largest;
}

PageCosts measure_page_costs(const PageCostsPlan &plan) { return Costs(plan).run(); }

} // namespace smalloc::calibrate
