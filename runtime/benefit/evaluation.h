// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// evaluation.h counts the misses of many mappings in one pass over the accesses. The LRU order
// changes with the page sizes. So each mapping has arrays of the TLB of its own (array_misses.h),
// one for each array that its page sizes use. Accesses are gathered in batches, and the cores share
// the mappings of a batch. Confidence intervals are resampled from the batches (bootstrap). Each
// core has a TLB of its own (thread_tlbs.h); memory and caches are common.
//
// Memory: for each mapping and TLB about 30 bytes a touched page (reuse/distance_counter.h), 8 more
// if there are several TLBs; 150 KiB for each TLB that touches any page; 40 bytes an access of the
// batch. Independent of the trace's length.
#pragma once

#include "runtime/benefit/cost_model.h"
#include "runtime/benefit/first_reads.h"
#include "runtime/benefit/near_lines.h"
#include "runtime/benefit/objects.h"
#include "runtime/benefit/streams.h"
#include "runtime/benefit/streams_at_once.h"
#include "runtime/benefit/table_lines.h"
#include "runtime/reuse/histogram.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_set>
#include <vector>

namespace smalloc::benefit {

/// Counts of the whole program: they are scaled by what sampling left out.
struct Counts {
  double tlb_misses = 0, page_faults = 0;
  double cycles = 0;       ///< of both
  double touch_cycles = 0; ///< part of it for first touches
};

/// Part of a program's accesses that a trace holds.
struct Sample {
  /// Share of the 2 MiB regions that are in the trace, with all their accesses. For page sizes up
  /// to that, distances are those of the sample / rate.
  double rate = 1;
  /// Accesses that each recorded one stands for, independent of the address (period of a PMU).
  /// Distances are those of the sample.
  double weight = 1;
  /// Each access missed the TLB on base pages; what stays on base pages goes on missing.
  bool misses = false;
};

/// Describes what the program does at the same time.
struct Concurrency {
  /// By category: its accesses do not wait for each other (Walk); beyond the end they do.
  std::vector<bool> overlaps = {};
  uint32_t tlbs = 1; ///< cores that accesses come from, 1 or more
};

class Evaluation {
public:
  using Pages = std::vector<PageSize>;
  /// Creates the evaluation. mappings[i][category]: page size of the category; a category beyond
  /// the vector's end is on base pages. threads: of the evaluation; 0: one a core.
  Evaluation(const CostModel &costs, std::vector<Pages> mappings, Sample sample,
             unsigned threads = 0, Concurrency concurrency = {});
  ~Evaluation();

  /// Adds one run of accesses to one base page. place.in_gib: 1 GiB pages can be there; 2 MiB pages
  /// serve the rest of the category, as in the allocator. place.region: in a sample it stands for
  /// the superpage, so that either all accesses to a superpage are there or none. tlb: of the core,
  /// below Concurrency::tlbs.
  void access(uint64_t address, const Objects::Place &place, uint64_t repeats, bool write = true,
              uint32_t tlb = 0);
  /// Gives the category's memory from start to end back to the kernel: on base pages the next
  /// touches are first ones. A heap of superpages keeps its memory.
  void given_back(uint64_t start, uint64_t end, uint32_t category);
  /// Begins counting. Earlier accesses, such as those of the process that this one was forked from,
  /// leave their pages touched and in the TLBs; nothing of them is counted.
  void start_counting();
  /// Counts the last batch. faults: page faults of the recorded process, on base pages; 0: not
  /// known. If the trace holds every access, those beyond the first touches are priced as second
  /// faults of pages that were read first.
  /// Samples of misses reach few of the base pages and nearly every superpage. First touches are
  /// then those of the categories' heaps, heap_bytes[category], without heap_bytes_before: what
  /// they had before. On base pages they are at most as many as the faults.
  void finish(double faults = 0, std::vector<uint64_t> heap_bytes = {},
              std::vector<uint64_t> heap_bytes_before = {});

  double accesses() const { return accesses_; }
  Counts counts(size_t mapping) const;
  /// Cycles that mapping b saves over mapping a, and the 5 % and 95 % ends of the bootstrap. If the
  /// number of sampled regions allows a wider interval, it is that one. For a PMU's samples it
  /// follows from the number of samples in the saving.
  struct Saving {
    double cycles, low, high;
  };
  Saving saving(size_t a, size_t b) const;

private:
  struct Access {
    uint64_t address, packed; // packed: of a range that is given back, its end
    uint32_t category;
    bool in_gib, given_back;
    Walk walk;
    uint32_t table_pages; // of Walk::kNear on base pages
    uint32_t tlb;
    uint64_t region;
  };
  struct Lane;
  Walk walk_of(uint32_t category, uint64_t address, uint64_t repeats, bool near, uint32_t tlb);
  void run_batch();

  const CostModel &costs_;
  Sample sample_;
  double accesses_ = 0;
  uint64_t last_region_ = UINT64_MAX;
  std::unordered_set<uint64_t> regions_; // of 2 MiB, in the sample
  unsigned threads_;
  std::vector<bool> overlaps_;
  std::vector<Streams> streams_;               // by TLB and category, of those that overlap
  std::vector<StreamsAtOnce> streams_at_once_; // by TLB
  std::optional<NearLines> near_lines_;        // if lines are recorded and priced
  TableLines table_lines_;                     // used with near_lines_
  FirstReads first_reads_;
  /// Knowledge of page faults besides the accesses, by category.
  struct Faults {
    std::vector<double> second;                          // on base pages
    bool first_by_heaps = false;                         // first touches are those of heap_bytes
    std::vector<uint64_t> heap_bytes, heap_bytes_before; // of a heap of the category's own
    double touched_share = 1;                            // of their base pages
  };
  Faults faults_;
  std::vector<Access> batch_;
  std::vector<std::unique_ptr<Lane>> lanes_; // by mapping
};

} // namespace smalloc::benefit
