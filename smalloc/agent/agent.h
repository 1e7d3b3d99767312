// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// agent.h decides, at the start of a program with directives, which of them take effect (policy.h), with how many superpages there are
// (supply.h), and beside which other programs (shared_claims.h); and while it runs, when that decision is made anew
// because what is live has moved from one site to another (a phase of the program has ended). It knows sites by their line in the
// directives file only; heaps and their migration are core's (core/runtime_agent.cpp).
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
    size_t pool_page_bytes = 0;            ///< as read_supply()
    uint64_t most_superpages = UINT64_MAX; ///< the user's budget, the cgroup's room
    bool possible =
        true; ///< superpages can be had at all: else lines say which heap serves, and nothing is claimed
    const char *build_id = ""; ///< of this program
    bool input_known = false;
    uint64_t input = 0;
    Claim self = {}; ///< superpages does not matter
    IsAlive alive = nullptr;
  };
  /// Decides for every line; claims nothing yet. Without memory for the candidates every line means what it says.
  void start(Directives &directives, const Config &config);
  /// A site of a line that is taken is in this program: claims what is counted on. A process without any, a shell that starts the
  /// program for instance, claims nothing. A compare, but for the first time.
  void claim();
  /// The process ends, or is a forked child, whose memory is its parent's as long as nobody writes: no claim.
  void end();
  void after_fork_in_child() {
    claims_ = SharedClaims();
    lock_.unlock();
  }

  bool active() const { return directives_ != nullptr; }
  Policy policy() const { return policy_; }
  /// The profile's input again, whatever build it is.
  bool has_same_input() const { return same_input_; }
  uint64_t bar() const { return bar_; }
  const Supply &supply() const { return supply_; }
  uint64_t claimed_by_others() const { return others_; }
  uint64_t superpages_taken() const { return used_; }
  uint64_t count(DirectiveOutcome decision) const;

  /// The program has allocated or freed so much of what a line speaks of. live_superpages: whole superpages of its live objects.
  /// True: look whether to decide anew. A compare or two.
  bool note_live(Directives::Entry *entry, uint64_t live_superpages);
  /// Decides anew with what is live in place of what the profile saw. Calls changed(entry, before) for each line that has another
  /// decision now. At most every kLeastPauseNs.
  void decide_anew(uint64_t now_ns,
                   void (*changed)(Directives::Entry *entry, DirectiveOutcome before, void *data),
                   void *data);
  /// What migrating a line's live objects may cost, in ns: what the profile promised of it for the rest of the run, as far as so many
  /// superpages are live. At most kMostWorthNs: a file may say anything, and ledgers add.
  static constexpr uint64_t kMostWorthNs = 1000000000000000000;
  uint64_t worth_ns(const Directives::Entry &entry, uint64_t live_superpages,
                    uint64_t elapsed_ns) const;
  uint64_t phases() const { return phases_.load(std::memory_order_relaxed); }

  static constexpr uint64_t kLeastPauseNs =
      10000000; ///< between two decisions, each of which costs some 0.1 ms

private:
  static constexpr unsigned kMostWatched =
      64; ///< lines whose live memory is followed: those with the most superpages
  struct Watched {
    Directives::Entry *entry;
    std::atomic<uint64_t> live, at_decision; ///< superpages
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

/// The process has one.
extern Agent g_agent;

} // namespace smalloc
#endif
