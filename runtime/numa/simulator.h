// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// simulator.h simulates a recorded trace on a NUMA machine. Processors with caches and TLBs produce
// memory transactions. Six sources of access counts sample them (Tikir and Hollingsworth 2008,
// section 4). The migration policy turns each source's counts into moves; their cost and saving are
// accounted.
//
// Caches and TLBs do not depend on the node of a page, so one pass over the trace serves all
// sources and mappings at once. In each interval, the transactions of each page by each node are
// priced under each scheme's placement. The clock of intervals is the trace's own, the same for
// all.
#pragma once

#include "runtime/numa/machine_model.h"
#include "runtime/numa/set_associative.h"
#include "smalloc/numa/migration_policy.h"

#include <memory>
#include <unordered_map>
#include <vector>

namespace smalloc::numa {

enum class Source { kTransactions, kCacheMisses, kTlbMisses, kTlbContent, kAtc, kPerfect };
inline constexpr unsigned kSources = 6;
const char *source_name(Source source);

enum class Mapping { kBasePages, kSuperpages };

struct SimulatorOptions {
  unsigned intervals = 30;
  /// Transactions or misses for each sample.
  unsigned sample_period = 16;
  /// Translations between two looks at a TLB's content.
  unsigned content_period = 1024;
  /// Threads lie on nodes round robin; false: neighbours together.
  bool scatter = false;
  PolicyOptions policy;
};

/// Result of the trace under one source of counts and one mapping.
struct Scheme {
  bool migrates = true;
  Source source = Source::kPerfect;
  Mapping mapping = Mapping::kBasePages;

  uint64_t local = 0, remote = 0; ///< memory transactions
  uint64_t moved_pages = 0, moved_superpages = 0, splits = 0, collapses = 0, interleaved = 0;
  double memory_ns = 0, move_ns = 0, walk_ns = 0; ///< summed over the processors
  double busiest_share =
      0; ///< of all transactions, by the node that served most (mean of intervals)
  std::vector<uint64_t> moved_per_interval;    ///< base pages
  std::vector<std::vector<uint64_t>> moved_to; ///< [interval][node], base pages
  std::vector<std::vector<uint64_t>> pages_on; ///< [interval][node], at its end
  std::vector<double> remote_share_per_interval;
  double trust = 1;
};

struct SimulationResult {
  uint64_t accesses = 0, transactions = 0, tlb_misses = 0, superpage_tlb_misses = 0, pages = 0;
  unsigned threads = 0;
  double hit_ns = 0;           ///< in the caches; the same for all schemes
  std::vector<Scheme> schemes; ///< the first moves nothing, on base pages

  double total_ns(const Scheme &s) const { return hit_ns + s.memory_ns + s.move_ns + s.walk_ns; }
};

class Simulator {
public:
  /// Creates the schemes. On base pages: without migration and with each source. On superpages:
  /// without migration, and with counts of cache misses: moved whole only, and by smalloc's rules.
  Simulator(const MachineModel &machine, const SimulatorOptions &options);
  ~Simulator();

  /// Simulates an access; `repeats` further ones to the same line follow at once. True: it has left
  /// the processor's caches.
  bool access(unsigned thread, uint64_t address, bool write, uint64_t repeats);
  /// Ends an interval (the caller cuts the trace).
  void end_interval();
  SimulationResult finish();

  /// Returns the addresses of the 2 MiB units that were touched, ascending.
  std::vector<uint64_t> unit_addresses() const;
  size_t schemes() const { return runs_.size(); }
  unsigned nodes() const { return machine_.topology.nodes; }
  const Scheme &scheme(size_t i) const;
  /// Returns the node of page `address / 4096` under a scheme; kNoNode: never touched. For reports
  /// and tests.
  uint8_t home(size_t scheme, uint64_t address) const;

  uint8_t node_of_thread(unsigned thread) const;

private:
  struct Processor;
  struct SimUnit;
  struct Run;

  SimUnit &unit(uint64_t address);
  void sample(Source source, size_t unit, unsigned page, uint8_t node);
  void look_at_tlb(Processor &p);
  void place_new_pages(Run &run);
  void migrate(Run &run);
  void account(Run &run);
  void feed_perfect(Run &run);

  MachineModel machine_;
  SimulatorOptions options_;
  SimulationResult result_;
  std::vector<std::unique_ptr<Processor>> processors_;
  std::vector<std::unique_ptr<SimUnit>> units_;
  std::unordered_map<uint64_t, size_t> unit_index_;
  uint64_t last_unit_key_ = UINT64_MAX;
  size_t last_unit_ = 0;
  std::vector<std::unique_ptr<Run>> runs_;
  std::vector<Move> plan_;
  uint64_t transactions_since_sample_ = 0;
};

} // namespace smalloc::numa
