// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// profile_result.h holds the options and the result of a profile: the traces that were read, and
// the sites by rank with their savings on each page size.
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
  /// Page sizes for a site besides base pages, smallest first. Each is evaluated on its own.
  std::vector<benefit::PageSize> pages = {benefit::PageSize::kSuper};
};

struct TraceSummary {
  std::string path, build_id, program;
  std::string input; ///< 16 hex digits: command_line_signature(); empty: unknown
  double rate = 1, accesses = 0, seconds = 0;
  double nobodys =
      0; ///< of the accesses: to memory that no site allocated, and that is no static data
  size_t regions = 0;  ///< of 2 MiB, with recorded accesses
  std::string parent;  ///< process that it was forked from; empty: none
  uint32_t tlbs = 1;   ///< cores on which its threads access (benefit/thread_tlbs.h)
  double weight = 1;   ///< accesses that each recorded one stands for: a PMU's period
  bool misses = false; ///< each recorded access missed the TLB on base pages
  bool faults = false; ///< each recorded access was a page fault
  uint64_t allocations = 0;
  uint64_t file_bytes = 0, read_bytes = 0;
  std::string root; ///< trace of its oldest ancestor among the traces; empty: none is its ancestor
  double began = 0; ///< seconds after the root's start
  bool complete = false; ///< the process came to its end, and so does the file
  uint64_t events = 0,
           lost = 0; ///< events: in the file; lost: missing there

  bool empty() const { return allocations == 0 && accesses == 0; }
  /// True if the trace of an ancestor is here, too: the process is no run of its own.
  bool forked() const { return !root.empty(); }
};

/// A category's result on one page size.
struct SizeResult {
  benefit::PageSize page = benefit::PageSize::kSuper;
  uint64_t page_count =
      0; ///< of that size; for 1 GiB pages without what is no whole GiB of an object
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
  uint64_t heap_bytes = 0; ///< size of a heap of its own
};

/// One base mapping, with its category's names for people and files.
struct RankedMapping {
  benefit::Mapping
      mapping; ///< on its best page size; `superpages`: of 2 MiB, whatever that size is
  std::vector<SizeResult> sizes; ///< evaluated page sizes, smallest first; never empty
  size_t best = 0;               ///< index in sizes
  benefit::CategoryKind kind = benefit::CategoryKind::kSite;
  uint64_t id = 0, context = 0; ///< context 0: all copies of the site
  uint64_t object = 0;          ///< of kind kObject: number of the site's object, from 1
  size_t copies = 0;            ///< inlined copies that a category of kind kSite joins
  std::string chain;            ///< the copy's inline chain, innermost first, a line each
  bool steerable = false;       ///< the id is the plugin's: a directive can reach it
  bool walks_overlap = false;   ///< its misses are priced as those of accesses that wait for no
                                ///< other
  std::string function, file;
  unsigned line = 0;
  std::vector<ClusterMember> members; ///< of a cluster, most accesses first; else empty
  double accesses = 0;
  uint64_t footprint_bytes = 0;
  double tlb_misses_base = 0, page_faults_base = 0;

  const SizeResult &result() const { return sizes[best]; }
  /// True if the estimate says that superpages save, and the sample is too small to be sure. Such
  /// an estimate is no evidence for base pages either.
  bool undecided() const {
    return !mapping.chosen && mapping.saved_cycles > 0 && mapping.saved_cycles_low <= 0;
  }
};

struct Profile {
  std::vector<TraceSummary> traces;
  std::vector<RankedMapping> mappings; ///< by rank
  bool has_accesses = false, significant = false;
  size_t plugin_sites = 0; ///< named in the traces, whether or not they are evaluated
  benefit::Rates rates;
  double cycles_base = 0, saved_all = 0; ///< all on base pages; everything on 2 MiB
  double tlb_misses_base = 0;            ///< all on base pages
  double tlb_misses_steerable = 0;       ///< with the chosen categories that directives reach on
                                         ///< superpages
  double page_faults_base = 0, page_faults_steerable = 0; ///< as the misses
  double saved_joint = 0, saved_additive = 0;
  double saved_steerable =
      0; ///< joint saving of the chosen categories that directives reach; static data is not
         ///< reached
  uint64_t superpages_chosen = 0;
  size_t categories = 0; ///< including those that were not evaluated

  /// Returns the number of the program's runs, 1 at least. The processes that one forks are part of
  /// it.
  double runs() const;
  /// Returns the seconds of all runs, from the first event of each to the last of any of its
  /// processes.
  double run_seconds() const;
};

} // namespace smalloc::cli
