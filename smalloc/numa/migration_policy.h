// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// migration_policy.h decides which pages move to which node at the end of an interval. Pure: no
// system call, no clock, no allocation; the caller keeps the units (2 MiB of address space each),
// feeds in sampled accesses, carries the plan out and says what became of it.
//
// The scheme is that of Tikir and Hollingsworth, Hardware monitors for dynamic page migration, JPDC
// 2008 (counts per page and node, move to the dominant node, freeze three intervals), which
// PolicyOptions::paper() restores. Ours differs where theirs lost:
//  - benefit test: (cost at home - cost at target) x sample period x horizon must exceed the cost of
//    the move. Cost = sum over nodes of count x latency(node, memory), so that distances matter, not
//    only "local or not". The horizon is what the program has lived, at most horizon_intervals; what
//    moves brought in fact scales what further ones are trusted to bring (FT-like programs, whose
//    pages wander, stop paying);
//  - superpages are counted below 2 MiB: one dominant node: move whole; different pages, different
//    nodes: split and move; hot and mixed: interleave whole superpages by load; else leave.
//    Re-collapsed after three quiet intervals;
//  - imbalance guard: a move must not pile up more than imbalance_limit times the mean load on a node
//    (bandwidth before locality), the mean over the nodes that are at work; nor fill a node's memory.
#ifndef SMALLOC_NUMA_MIGRATION_POLICY_H
#define SMALLOC_NUMA_MIGRATION_POLICY_H

#include "smalloc/base/units.h"
#include "smalloc/numa/page_counts.h"
#include "smalloc/numa/topology.h"

namespace smalloc::numa {

enum class Granularity : uint8_t {
  kPages,     ///< base pages, each on its own
  kSuperpage, ///< one superpage: all pages have one home
};

/// 2 MiB of address space: what is known of its pages. 6160 bytes: 0.294 % of what it describes.
struct Unit {
  PageCounts page[kPagesPerUnit];
  uintptr_t address = 0;
  Granularity granularity = Granularity::kPages;
  bool was_superpage = false; ///< split by us: a candidate for re-collapse
  uint8_t quiet = 0;          ///< whole intervals since the last move
  static constexpr uint8_t kMovedNow = 255;
  uint8_t touched = 0; ///< has counts worth a look
};

struct PolicyOptions {
  /// Accesses that one sample stands for.
  uint32_t sample_period = 1024;
  /// What a past interval still counts, in 1/256: half-life of one interval.
  unsigned keep256 = 128;
  unsigned freeze_intervals = 3; ///< 0..3
  /// A page with fewer samples is noise. Two: one sample may be a stray access of a helper thread.
  unsigned least_samples = 2;
  /// Pages that have hardly been sampled go where those around them are used from, if that is one node (whole_share): a
  /// sampler that sees a thousand accesses a second cannot see each page of a gigabyte (neighbourhood.h). For the same reason a superpage is split
  /// by larger pieces than pages, and left alone while even those have not been seen enough. Off in the simulator, whose sources
  /// are compared by what they see.
  bool neighbours = false;
  bool benefit_test = true;
  /// Longest time that a move may need to pay off. Tikir's programs ran 6 to 780 intervals.
  double horizon_intervals = 10;
  /// Share of its accesses from which on a superpage has "one" user.
  double whole_share = 0.8;
  /// Load of the home, as a multiple of the mean, from which on hot mixed superpages are spread out.
  double interleave_above = 1.25;
  /// Most load on a node, as a multiple of the mean of the nodes at work; 0: no guard.
  double imbalance_limit = 2.0;
  uint64_t most_pages_per_interval = 0; ///< rate limit in base pages; 0: none
  /// Memory that stays free on a target, in bytes.
  uint64_t reserve_bytes = uint64_t{64} << 20;

  // What actions cost. Defaults: move_pages(2) of base pages and of THP on a current x86 server, kernel 6.x,
  // guesses of the right order; the simulator and the executor put what they know or measure.
  double move_page_ns = 2000;
  double move_superpage_ns = 250000;
  double split_ns = 20000;
  double collapse_ns = 1450000;
  /// What a superpage saves per sampled-out access by fewer page walks; lost by a split.
  double superpage_saves_ns_per_access = 0.5;

  /// The published scheme: dominant node of the last interval, frozen three, nothing else asked.
  static PolicyOptions paper();
};

enum class Action : uint8_t {
  kMovePage,   ///< one base page
  kMoveUnit,   ///< a superpage as a whole
  kSplit,      ///< a superpage becomes base pages; the moves of its pages follow in the plan
  kInterleave, ///< a superpage as a whole, for the sake of balance
  kCollapse,   ///< base pages of one node become a superpage again
};
const char *action_name(Action action);

struct Move {
  Unit *unit;
  uint16_t page; ///< within the unit; 0 for whole units
  uint8_t from, to;
  Action action;
  float benefit_ns;        ///< expected over the horizon, cost deducted
  float saved_ns_interval; ///< expected per interval
  float priority;          ///< benefit per base page moved; one for a split and all its moves
  uintptr_t address() const { return unit->address + page * kBasePageBytes; }
  size_t pages() const { return action == Action::kMovePage ? 1 : kPagesPerUnit; }
};

/// Why pages stayed, counted over all intervals.
struct PolicyCounters {
  uint64_t intervals = 0, moved_pages = 0, moved_units = 0, splits = 0, interleaved = 0,
           collapses = 0;
  uint64_t frozen = 0, not_worth = 0, unbalanced = 0, target_full = 0, rate_limited = 0,
           plan_full = 0, mixed_left = 0;
};

class MigrationPolicy {
public:
  MigrationPolicy(const Topology &topology, const PolicyOptions &options);

  const PolicyOptions &options() const { return options_; }
  /// Free memory now, in bytes; asked for at each interval because others use it too.
  void set_free_bytes(unsigned node, uint64_t bytes) { free_bytes_[node] = bytes; }

  /// What a sample stands for, where that is found out or changes.
  void set_sample_period(uint32_t accesses) { options_.sample_period = accesses; }
  /// What page walks a superpage saves, spread over the accesses that are sampled: measured, where
  /// somebody can.
  void set_superpage_saving(double ns_per_access) {
    options_.superpage_saves_ns_per_access = ns_per_access;
  }

  /// A page is first seen, or found to lie elsewhere than believed.
  static void placed(Unit &unit, unsigned page, uint8_t home) { unit.page[page].set_home(home); }
  /// A sampled access by a processor of node `by`.
  static void sample(Unit &unit, unsigned page, uint8_t by) {
    unit.page[page].add(by);
    unit.touched = 1;
  }

  /// The end of an interval: what should move, most beneficial first within the kinds of a plan
  /// (a split stands before the moves of its pages). Returns the number of entries written.
  /// O(pages of touched units + entries log entries).
  size_t plan(Unit *const *units, size_t count, Move *out, size_t capacity);
  /// What became of an entry. Not done: EBUSY, ENOMEM...: the page stays where it is, and is frozen
  /// too, so that a pinned page is not tried at every interval.
  void carried_out(const Move &move, bool done);
  /// After the plan: counts age, freezes thaw, the next interval starts.
  void next_interval(Unit *const *units, size_t count);

  /// The unit is gone (unmapped): nothing of it is looked at again.
  void forget(const Unit &unit);

  /// 0..1: how much of what moves promised came true lately.
  double trust() const { return trust_; }
  const PolicyCounters &counters() const { return counters_; }

private:
  struct Best {
    uint8_t node;
    double saved_ns; ///< per interval
  };
  /// A sample of carried out moves, looked at again when their next interval is over.
  struct Trial {
    Unit *unit;
    uint32_t from_count, to_count;
    uint16_t page; ///< kWholeUnit: a superpage
    uint8_t from, to;
    float saved_ns; ///< promised, per interval
    uint8_t waited; ///< intervals in which nobody used the page
  };
  /// What trials have shown since trust last changed by it; what was shown an interval earlier counts half.
  struct Evidence {
    double promised_ns = 0, saved_ns = 0, seen = 0, judged = 0;
    void age() { promised_ns /= 2, saved_ns /= 2, seen /= 2, judged /= 2; }
  };
  static constexpr unsigned kTrials = 1024;
  static constexpr uint16_t kWholeUnit = kPagesPerUnit;
  /// What the aged counts of this page, or of all of the unit, will be; 256: what they are.
  static uint32_t count_of(const Unit &unit, uint16_t page, uint8_t node, unsigned keep256);
  void remember(const Move &move);

  double latency(unsigned from, unsigned to) const { return latency_[from][to]; }
  double accesses(double counts) const; ///< per interval, that so many aged counts stand for
  double horizon() const;
  double interval_ns() const;
  Best best_home(const PageCounts &page) const;
  Best best_home(const double *by_node, uint8_t home) const;
  double benefit(double saved_ns, double cost_ns) const;
  void evaluate_trials();
  size_t plan_pages(Unit &unit, Move *out, size_t capacity);
  bool beyond_chance(const PageCounts &page, uint8_t to) const;
  size_t plan_superpage(Unit &unit, Move *out, size_t capacity);
  /// pages: the smallest pieces of a superpage of whose users enough is known; 0: too little is, of any.
  struct Grain {
    unsigned pages;
    bool separable; ///< each piece has one user
  };
  Grain grain_of(const Unit &unit, double total) const;
  double least_in_piece(unsigned pages) const;
  double sum_of(const PageCounts *page, unsigned pages, double *by_node) const;
  size_t plan_split(Unit &unit, double total, unsigned piece, Move *out, size_t capacity);
  size_t plan_collapse(Unit &unit, Move *out, size_t capacity);
  bool admit(Move &move, uint64_t &pages_left);
  void sum_loads(Unit *const *units, size_t count);
  double load_of(const PageCounts &page) const;
  double load_of(const Move &move) const;
  double mean_load() const;
  double fair_load() const;

  Topology topology_;
  PolicyOptions options_;
  PolicyCounters counters_;
  double latency_[kMaxNodes][kMaxNodes];
  double load_[kMaxNodes] = {};   ///< samples served by each node, aged
  double most_load_ = 0;          ///< that a page counts for; 0: no limit
  double issued_[kMaxNodes] = {}; ///< samples asked for by each node, aged
  uint64_t free_bytes_[kMaxNodes] = {};
  Trial trials_[kTrials];
  Evidence evidence_;
  unsigned trial_count_ = 0;
  uint64_t trial_stride_ = 1, carried_ = 0;
  double trust_ = 1;
  unsigned failures_ = 0, pause_ = 0; ///< pause_: intervals without moves still to come
};

} // namespace smalloc::numa
#endif
