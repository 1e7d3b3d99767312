// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// profile_result.h holds what is asked of a profile and what it says: the traces that were read, and the sites by
// rank with their savings on each page size.
#pragma once

#include "runtime/benefit/cost_model.h"
#include "runtime/benefit/objects.h"
#include "runtime/benefit/ranking.h"

#include <string>
#include <vector>

namespace smalloc::cli {

struct ProfileOptions {
  std::vector<std::string> traces;
  benefit::Grouping grouping = benefit::Grouping::kSite;
  benefit::SignificanceRule rule = benefit::SignificanceRule::kShare;
  uint64_t budget_bytes = UINT64_MAX;
  double least_pmb_percent = 1;
  size_t most_mappings = 24; ///< categories evaluated: those with the most accesses
  double seconds = 0;        ///< of an unrecorded run; 0: the recording's
  bool other_input = false;
  unsigned threads = 0;
  /// What a site may be put on besides base pages, smallest first. Each makes an evaluation of its own.
  std::vector<benefit::PageSize> pages = {benefit::PageSize::kSuper};
};

struct TraceSummary {
  std::string path, build_id, program;
  std::string input; ///< 16 hex digits (smalloc/base/input_signature.h); empty: it does not say
  double rate = 1, accesses = 0, seconds = 0;
  double nobodys =
      0; ///< of the accesses: to memory that no site allocated, and that is no static data
  size_t regions = 0;  ///< of 2 MiB, with recorded accesses
  std::string parent;  ///< process that it was forked from; empty: none
  uint32_t tlbs = 1;   ///< of the cores on which its threads access (benefit/thread_tlbs.h)
  double weight = 1;   ///< accesses that each recorded one stands for: a PMU's period
  bool misses = false; ///< each of them missed the TLB on base pages
  bool faults = false; ///< each of them was a page fault
  uint64_t allocations = 0;
  uint64_t file_bytes = 0, read_bytes = 0;
  std::string
      root; ///< trace of its oldest ancestor that is here; empty: it was forked from none of them
  double began = 0;      ///< s after that one
  bool complete = false; ///< the process came to its end, and so does the file
  uint64_t events = 0,
           lost = 0; ///< that are in the file; that the recording had no time for

  bool empty() const { return allocations == 0 && accesses == 0; }
  /// From a process whose trace is here, too: no run of its own.
  bool forked() const { return !root.empty(); }
};

/// A category on one page size.
struct SizeResult {
  benefit::PageSize page = benefit::PageSize::kSuper;
  uint64_t page_count =
      0; ///< of that size; what is no whole GiB of an object is not in that of 1 GiB pages
  double tlb_misses = 0, page_faults = 0;
  double saved_cycles = 0, saved_cycles_low = 0, saved_cycles_high = 0, pmb_percent = 0;
};

/// A site of a cluster.
struct ClusterMember {
  uint64_t id = 0;
  std::string function, file;
  unsigned line = 0;
  bool steerable = false;
  double accesses = 0;
  uint64_t heap_bytes = 0; ///< what a heap of its own would take
};

/// One base mapping, with what people and files call its category.
struct RankedMapping {
  benefit::Mapping
      mapping; ///< on the page size that is best for it; `superpages`: of 2 MiB, whatever that is
  std::vector<SizeResult> sizes; ///< those that were evaluated, smallest first; never empty
  size_t best = 0;               ///< of sizes
  benefit::CategoryKind kind = benefit::CategoryKind::kSite;
  uint64_t id = 0, context = 0; ///< context 0: all copies of the site
  uint64_t object = 0;          ///< of kind kObject: which of the site's, from 1
  size_t copies = 0;            ///< inlined ones that a category of kind kSite joins
  std::string chain;            ///< the copy's inline chain, innermost first, a line each
  bool steerable = false;       ///< an id of the plugin's: a directive can reach it
  bool walks_overlap = false;   ///< its misses are priced as those of accesses that wait for none
  std::string function, file;
  unsigned line = 0;
  std::vector<ClusterMember> members; ///< of a cluster, most accesses first; else empty
  double accesses = 0;
  uint64_t footprint_bytes = 0;
  double tlb_misses_base = 0, page_faults_base = 0;

  const SizeResult &result() const { return sizes[best]; }
  /// The estimate says that superpages save, the sample cannot make sure of it: says nothing for base pages either.
  bool undecided() const {
    return !mapping.chosen && mapping.saved_cycles > 0 && mapping.saved_cycles_low <= 0;
  }
};

struct Profile {
  std::vector<TraceSummary> traces;
  std::vector<RankedMapping> mappings; ///< by rank
  bool has_accesses = false, significant = false;
  size_t plugin_sites = 0; ///< that the traces name, whether or not anything is said of them
  benefit::Rates rates;
  double cycles_base = 0, saved_all = 0; ///< all on base pages; everything on 2 MiB
  double tlb_misses_base = 0;            ///< all on base pages
  double tlb_misses_steerable = 0;       ///< with what directives reach of what was chosen
  double page_faults_base = 0, page_faults_steerable = 0; ///< as these
  double saved_joint = 0, saved_additive = 0;
  double saved_steerable =
      0; ///< together, of what is chosen and directives reach: static data is not
  uint64_t superpages_chosen = 0;
  size_t categories = 0; ///< also those that were not evaluated

  /// Of the program; the processes that one forks are part of it. 1 at least.
  double runs() const;
  /// Of all runs, from the first event of each to the last of any of its processes.
  double run_seconds() const;
};

} // namespace smalloc::cli
