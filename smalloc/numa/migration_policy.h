// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// migration_policy.h plans at the end of an interval which pages move to which node. It is pure: no
// system call, no clock, no allocation. The caller keeps the units (2 MiB of address space each),
// records sampled accesses in them, carries the plan out and reports the results.
//
// The scheme is that of Tikir and Hollingsworth, Hardware monitors for dynamic page migration, JPDC
// 2008: count accesses per page and node, move a page to its dominant node, freeze it for three
// intervals. PolicyOptions::paper() selects it. The default differs where that scheme lost:
//  - benefit test: (cost at home - cost at target) x sample period x horizon must exceed the cost
//    of the move. Cost = sum over nodes of count x latency(node, memory), so that distances matter,
//    not only "local or not". The horizon is the program's run time so far, at most
//    horizon_intervals. The result of earlier moves scales the expected benefit of further ones:
//    moves then stop in programs like FT, whose pages wander;
//  - superpages are counted below 2 MiB. One dominant node: move whole. Different nodes for
//    different pages: split and move. Hot and mixed: interleave whole superpages by load. Else
//    leave. A split superpage is collapsed again after three quiet intervals;
//  - imbalance guard: a move must not raise a node's load above imbalance_limit times the mean
//    (bandwidth before locality), over the nodes that are at work, unless the node that it leaves
//    has still more load. Nor may it fill a node's memory.
#ifndef SMALLOC_NUMA_MIGRATION_POLICY_H
#define SMALLOC_NUMA_MIGRATION_POLICY_H

#include "smalloc/base/units.h"
#include "smalloc/numa/page_counts.h"
#include "smalloc/numa/topology.h"

namespace smalloc::numa {

enum class Granularity : uint8_t {
  kPages,     ///< base pages, each with its own home
  kSuperpage, ///< one superpage: all pages have one home
};

/// Counts for the pages of 2 MiB of address space. 6160 bytes: 0.294 % of what it describes.
struct Unit {
  PageCounts page[kPagesPerUnit];
  uintptr_t address = 0;
  Granularity granularity = Granularity::kPages;
  bool was_superpage = false; ///< split by this policy: a candidate for re-collapse
  uint8_t quiet = 0;          ///< whole intervals since the last move
  static constexpr uint8_t kMovedNow = 255;
  uint8_t touched = 0; ///< has counts that plan() must read
};

struct PolicyOptions {
  /// Accesses that one sample stands for.
  uint32_t sample_period = 1024;
  /// Weight of a past interval in 1/256; 128: half-life of one interval.
  unsigned keep256 = 128;
  unsigned freeze_intervals = 3; ///< 0..3
  /// Fewest samples of a page that are more than noise. Two: one sample may be a stray access of a
  /// helper thread.
  unsigned least_samples = 2;
  /// Moves pages with hardly any samples to the node that uses the pages around them, if that is
  /// one node (whole_share). A sampler that sees a thousand accesses a second cannot see each page
  /// of a gigabyte (neighbourhood.h). For the same reason a superpage is split by larger pieces
  /// than pages, and stays while even those have too few samples. Off in the simulator, which
  /// compares its sources by what they see.
  bool neighbours = false;
  bool benefit_test = true;
  /// Longest time in which a move may pay off. Tikir's programs ran 6 to 780 intervals.
  double horizon_intervals = 10;
  /// Share of a superpage's accesses from which a node is its one user.
  double whole_share = 0.8;
  /// Load of the home node, as a multiple of the mean, from which hot mixed superpages are
  /// interleaved.
  double interleave_above = 1.25;
  /// Most load on a node, as a multiple of the mean of the nodes at work; 0: no guard.
  double imbalance_limit = 2.0;
  /// Memory that stays free on a target node, in bytes.
  uint64_t reserve_bytes = uint64_t{64} << 20;

  // Costs of the actions. The defaults are guesses of the right order for move_pages(2) of base
  // pages and of THP on a current x86 server with kernel 6.x. The simulator and the executor set
  // what they know or measure.
  double move_page_ns = 2000;
  double move_superpage_ns = 250000;
  double split_ns = 20000;
  double collapse_ns = 1450000;
  /// Page-walk time per sampled access that a superpage saves, in ns; a split loses it.
  double superpage_saves_ns_per_access = 0.5;

  /// Returns the published scheme: dominant node of the last interval, frozen for three, no other
  /// test.
  static PolicyOptions paper();
};

enum class Action : uint8_t {
  kMovePage,   ///< one base page
  kMoveUnit,   ///< a superpage as a whole
  kSplit,      ///< a superpage becomes base pages; the moves of its pages follow in the plan
  kInterleave, ///< a superpage as a whole, for balance
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
  float priority;          ///< benefit per base page moved; the same for a split and all its moves
  uintptr_t address() const { return unit->address + page * kBasePageBytes; }
  size_t pages() const { return action == Action::kMovePage ? 1 : kPagesPerUnit; }
};

/// Actions done, and reasons why pages stayed, over all intervals.
struct PolicyCounters {
  uint64_t intervals = 0, moved_pages = 0, moved_units = 0, splits = 0, interleaved = 0,
           collapses = 0;
  uint64_t frozen = 0, not_worth = 0, unbalanced = 0, target_full = 0, plan_full = 0,
           mixed_left = 0;
};

class MigrationPolicy {
public:
  MigrationPolicy(const Topology &topology, const PolicyOptions &options);

  const PolicyOptions &options() const { return options_; }
  /// Sets the node's free memory in bytes. The caller sets it at each interval, because others use
  /// the memory too.
  void set_free_bytes(unsigned node, uint64_t bytes) { free_bytes_[node] = bytes; }

  /// Sets the number of accesses that a sample stands for, once it is known or changes.
  void set_sample_period(uint32_t accesses) { options_.sample_period = accesses; }
  /// Sets the page-walk time that a superpage saves, spread over the sampled accesses, if it was
  /// measured.
  void set_superpage_saving(double ns_per_access) {
    options_.superpage_saves_ns_per_access = ns_per_access;
  }

  /// Records where a page lies: when it is first seen, or found elsewhere than recorded.
  static void placed(Unit &unit, unsigned page, uint8_t home) { unit.page[page].set_home(home); }
  /// Records a sampled access by a processor of node `by`.
  static void sample(Unit &unit, unsigned page, uint8_t by) {
    unit.page[page].add(by);
    unit.touched = 1;
  }

  /// Plans the moves at the end of an interval, most beneficial first; a split precedes the moves
  /// of its pages. Writes at most `capacity` entries and returns their number. O(pages of touched
  /// units + entries log entries).
  size_t plan(Unit *const *units, size_t count, Move *out, size_t capacity);
  /// Records the result of an entry. If not done (EBUSY, ENOMEM...), the page stays and is frozen
  /// too, so that a pinned page is not tried at every interval.
  void carried_out(const Move &move, bool done);
  /// Ages counts and starts the next interval. Call it after the plan was carried out.
  void next_interval(Unit *const *units, size_t count);

  /// Removes all references to a unit that was unmapped.
  void forget(const Unit &unit);

  /// Returns the share, 0..1, of their promised saving that recent moves have brought.
  double trust() const { return trust_; }
  const PolicyCounters &counters() const { return counters_; }

private:
  struct Best {
    uint8_t node;
    double saved_ns; ///< per interval
  };
  /// A sample of carried out moves, checked again when their next interval is over.
  struct Trial {
    Unit *unit;
    uint32_t from_count, to_count;
    uint16_t page; ///< kWholeUnit: a superpage
    uint8_t from, to;
    float saved_ns; ///< promised, per interval
    uint8_t waited; ///< intervals in which no node used the page
  };
  /// Results of trials since they last changed trust_; an older interval's results count half.
  struct Evidence {
    double promised_ns = 0, saved_ns = 0, seen = 0, judged = 0;
    void age() { promised_ns /= 2, saved_ns /= 2, seen /= 2, judged /= 2; }
  };
  static constexpr unsigned kTrials = 1024;
  static constexpr uint16_t kWholeUnit = kPagesPerUnit;
  /// Returns the count that the page (or the whole unit) will have after ageing by keep256; 256:
  /// its count now.
  static uint32_t count_of(const Unit &unit, uint16_t page, uint8_t node, unsigned keep256);
  void remember(const Move &move);

  double latency(unsigned from, unsigned to) const { return latency_[from][to]; }
  double accesses(double counts) const; ///< per interval, from aged counts
  double horizon() const;
  double interval_ns() const;
  Best best_home(const PageCounts &page) const;
  Best best_home(const double *by_node, uint8_t home) const;
  double benefit(double saved_ns, double cost_ns) const;
  void evaluate_trials();
  size_t plan_pages(Unit &unit, Move *out, size_t capacity);
  bool beyond_chance(const PageCounts &page, uint8_t to) const;
  static Move whole_move(Unit &unit, Action action, uint8_t to, double saved, double gain);
  size_t plan_superpage(Unit &unit, Move *out, size_t capacity);
  size_t plan_whole_move(Unit &unit, const Best &best, Move *out);
  bool plan_interleave(Unit &unit, double total, Move *out) const;
  /// Smallest pieces of a superpage whose users are known well enough. `pages` 0: none are.
  struct Grain {
    unsigned pages;
    bool separable; ///< each piece has one user
  };
  Grain grain_of(const Unit &unit, double total) const;
  double least_in_piece(unsigned pages) const;
  double sum_of(const PageCounts *page, unsigned pages, double *by_node) const;
  size_t plan_split(Unit &unit, double total, unsigned piece, Move *out, size_t capacity);
  size_t plan_collapse(Unit &unit, Move *out, size_t capacity);
  bool admit(Move &move);
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
  double most_load_ = 0;          ///< most load that a page counts for; 0: no limit
  double issued_[kMaxNodes] = {}; ///< samples requested by each node, aged
  uint64_t free_bytes_[kMaxNodes] = {};
  Trial trials_[kTrials];
  Evidence evidence_;
  unsigned trial_count_ = 0;
  uint64_t trial_stride_ = 1, carried_ = 0;
  double trust_ = 1;
  unsigned failures_ = 0, pause_ = 0; ///< pause_: remaining intervals without moves
};

} // namespace smalloc::numa
#endif
