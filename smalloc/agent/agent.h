// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// agent.h chooses at the start of a program which directives take effect: by policy (policy.h), by
// the number of available superpages (supply.h), and by the claims of other programs
// (shared_claims.h). While the program runs it chooses again if live memory has moved from one site
// to another (a phase of the program has ended). It knows sites only by their line in the
// directives file; core handles heaps and their migration (core/runtime_migrate.cpp).
#ifndef SMALLOC_AGENT_AGENT_H
#define SMALLOC_AGENT_AGENT_H

#include "smalloc/agent/directives.h"
#include "smalloc/agent/shared_claims.h"
#include "smalloc/agent/supply.h"
#include "smalloc/base/spin_lock.h"

#include <atomic>

namespace smalloc {

class Agent {
public:
  struct Config {
    const OsHooks *os = nullptr;
    const char *procfs = "/proc", *sysfs = "/sys", *shm = "/dev/shm";
    size_t pool_page_bytes = 0;            ///< as for read_supply()
    uint64_t most_superpages = UINT64_MAX; ///< the user's budget and the cgroup's room
    /// True if superpages are available. If false, lines only select the heap that serves, and the
    /// agent claims nothing.
    bool possible = true;
    const char *build_id = ""; ///< of this program
    bool input_known = false;
    uint64_t input = 0;
    Claim self = {}; ///< its number of superpages is ignored
    IsAlive alive = nullptr;
  };
  /// Chooses for every line, and claims nothing yet. Without memory for the candidates every line
  /// keeps its own page size.
  void start(Directives &directives, const Config &config);
  /// Claims the expected superpages, when a site of a taken line is found in this program. A
  /// process without any, such as a shell that starts the program, thus claims nothing. Cost: one
  /// compare, except the first time.
  void claim();
  /// Removes the claim at the end of the process.
  void end();
  /// Leaves the claim to the parent: a forked child shares its memory until the first write.
  void after_fork_in_child() {
    claims_ = SharedClaims();
    lock_.unlock();
  }

  bool active() const { return directives_ != nullptr; }
  Policy policy() const { return policy_; }
  /// True if the input is the profile's, whatever the build.
  bool has_same_input() const { return same_input_; }
  uint64_t bar() const { return bar_; }
  const Supply &supply() const { return supply_; }
  uint64_t claimed_by_others() const { return others_; }
  uint64_t superpages_taken() const { return used_; }
  uint64_t count(DirectiveOutcome decision) const;

  /// Records the live memory of a line after the program allocated or freed. `live_superpages`:
  /// whole superpages of its live objects. Returns true if decide_anew() is due. Cost: a compare or
  /// two.
  bool note_live(Directives::Entry *entry, uint64_t live_superpages);
  /// Chooses again, with the live memory instead of the profile's prediction. Calls changed(entry,
  /// before) for each line whose decision changes. At most once in kLeastPauseNs.
  void decide_anew(uint64_t now_ns,
                   void (*changed)(Directives::Entry *entry, DirectiveOutcome before, void *data),
                   void *data);
  /// Returns how much the migration of a line's live objects may cost, in ns: the saving that the
  /// profile promised for the rest of the run, scaled to `live_superpages`. At most kMostWorthNs: a
  /// file may contain any number, and ledgers add.
  static constexpr uint64_t kMostWorthNs = 1000000000000000000;
  uint64_t worth_ns(const Directives::Entry &entry, uint64_t live_superpages,
                    uint64_t elapsed_ns) const;
  uint64_t phases() const { return phases_.load(std::memory_order_relaxed); }

  /// Least time between two decisions, each of which costs some 0.1 ms.
  static constexpr uint64_t kLeastPauseNs = 10000000;

private:
  /// Lines whose live memory is tracked: those with the most superpages.
  static constexpr unsigned kMostWatched = 64;
  struct Watched {
    Directives::Entry *entry;
    std::atomic<uint64_t> live, at_decision; ///< in superpages
  };
  Watched *watched(const Directives::Entry *entry);
  void watch_biggest();
  void look_around(uint64_t live);

  Directives *directives_ = nullptr;
  Config config_;
  Policy policy_ = Policy::kNone;
  bool same_input_ = false;
  Supply supply_;
  SharedClaims claims_;
  uint64_t others_ = 0, bar_ = 0, used_ = 0, pmb_of_all_ = 0;
  Watched watched_[kMostWatched] = {};
  unsigned watched_count_ = 0;
  SpinLock lock_;
  std::atomic<bool> claims_something_{false};
  std::atomic<uint64_t> decided_ns_{0}, phases_{0};
  std::atomic<bool> due_{false}; ///< a move came too soon after a decision
};

/// The agent of this process.
extern Agent g_agent;

} // namespace smalloc
#endif
