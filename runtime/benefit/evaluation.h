// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// evaluation.h decides how the misses of many mappings are counted in one pass over the accesses: each mapping has its own
// arrays of the TLB (array_misses.h), one for each that its page sizes use, since the order changes with the page sizes; accesses are
// gathered in batches, and the mappings of a batch are shared out to all cores. Batches are also what the confidence intervals are
// resampled from (bootstrap). Each core has a TLB of its own (thread_tlbs.h); memory and caches are everybody's.
//
// Memory: about 30 bytes a touched page a mapping (reuse/distance_counter.h), for each TLB that touches it, and 8 more where there
// are several; 150 KiB for each TLB that touches any; 40 bytes an access of the batch; independent of the trace's length.
#pragma once

#include "runtime/benefit/cost_model.h"
#include "runtime/benefit/first_reads.h"
#include "runtime/benefit/near_lines.h"
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

/// Counted for the whole program: what sampling left out is scaled in.
struct Counts {
  double tlb_misses = 0, page_faults = 0;
  double cycles = 0;       ///< of both
  double touch_cycles = 0; ///< of these, first touches'
};

/// Which part of a program's accesses a trace holds.
struct Sample {
  /// Of the regions of 2 MiB, with all their accesses: distances in pages up to that size are those of the sample / rate.
  double rate = 1;
  /// Each access stands for so many, whichever they are (period of a PMU): distances are those of the sample.
  double weight = 1;
  /// Each access missed the TLB while it was on base pages: what stays there goes on missing.
  bool misses = false;
};

class Evaluation {
public:
  using Pages = std::vector<PageSize>;
  /// mappings[i][category]: what it is on. A category beyond the vector's end is on base pages. threads 0: one a core.
  /// overlaps[category]: its accesses do not wait for each other (Walk); beyond the end they do. tlbs: cores that accesses come from, 1 or
  /// more.
  Evaluation(const CostModel &costs, std::vector<Pages> mappings, Sample sample,
             unsigned threads = 0, std::vector<bool> overlaps = {}, uint32_t tlbs = 1);
  ~Evaluation();

  /// One run of accesses to one base page; category UINT32_MAX: none. in_gib: in a whole GiB of its object, where 1 GiB pages
  /// can be; 2 MiB pages serve the rest of a category that is on them, as in the allocator. region: as Objects::Place; in a sample it
  /// stands for the superpage, so that either all accesses to a superpage are there or none. tlb: of the core,
  /// below tlbs.
  void access(uint64_t address, uint64_t packed, uint32_t category, uint64_t repeats,
              bool in_gib = false, bool write = true, uint64_t region = kNoRegion,
              uint32_t tlb = 0);
  static constexpr uint64_t kNoRegion = UINT64_MAX;
  /// The category's memory from start to end is the kernel's again: on base pages the next touches are first ones. A heap of
  /// superpages keeps what it has.
  void given_back(uint64_t start, uint64_t end, uint32_t category);
  /// All accesses so far are of before, such as of the process that this one was forked from: their pages are there and in the TLBs, and
  /// nothing of them is counted.
  void start_counting();
  /// Counts what is left of the last batch. faults: page faults of the recorded process, on base pages, 0: not known. Where the
  /// trace holds every access, those beyond the first touches are priced as second faults of pages that were read first. Samples of
  /// misses come to few of the base pages, and to nearly every superpage: there first touches are those of the categories' heaps,
  /// heap_bytes[category], of base pages at most as many as there were faults; without what heaps had before.
  void finish(double faults = 0, std::vector<uint64_t> heap_bytes = {},
              std::vector<uint64_t> heap_bytes_before = {});

  double accesses() const { return accesses_; }
  Counts counts(size_t mapping) const;
  /// Cycles that mapping b saves over mapping a, and the 5 % and 95 % ends of its bootstrap, or of what the number of regions in the
  /// sample allows if that is wider; of a PMU's samples, of what the number of those that it saves allows.
  struct Saving {
    double cycles, low, high;
  };
  Saving saving(size_t a, size_t b) const;

private:
  struct Access {
    uint64_t address, packed; // packed: the end of what is given back
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
  std::optional<NearLines> near_lines_;        // where lines are told, and priced
  TableLines table_lines_;                     // there, too
  FirstReads first_reads_;
  /// What is known of page faults beside the accesses, by category.
  struct Faults {
    std::vector<double> second;                          // on base pages
    bool first_by_heaps = false;                         // first touches are those of heap_bytes
    std::vector<uint64_t> heap_bytes, heap_bytes_before; // what a heap of the category's own takes
    double touched_share = 1;                            // of their base pages
  };
  Faults faults_;
  std::vector<Access> batch_;
  std::vector<std::unique_ptr<Lane>> lanes_; // by mapping
};

} // namespace smalloc::benefit
