// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// agent.cpp chooses directives at the start and again at each phase of the program. A phase ends
// when a line's live memory has moved by a quarter of the profile's prediction, and by at least 8
// superpages (kLeastMove: 16 MiB; below that migration costs more than it saves).
#include "smalloc/agent/agent.h"
#include "smalloc/base/units.h"
#include "smalloc/os/own_stack.h"
#include "smalloc/os/scratch_pages.h"

#include <string.h>

namespace smalloc {
namespace {

constexpr uint64_t kLeastMove = 8;

/// True if the line wants superpages. 64 KiB pages need no free blocks of a superpage, and no
/// program competes for them.
bool wants_superpages(const Directives::Entry &e) { return e.page_shift > kMediumShift; }

} // namespace

/// Reads the supply of superpages and the claims of other programs, and renews this process' claim.
/// `live`: memory, in superpages, that the process has already on pages of any kind: a collapse
/// frees as much as it takes.
void Agent::look_around(uint64_t live) {
  on_own_stack([this] {
    supply_ = read_supply(*config_.os, config_.procfs, config_.sysfs, config_.pool_page_bytes);
  });
  claims_.exchange(used_, others_);
  bar_ = bar_thousandths(others_, supply_.total);
  const uint64_t left = supply_.total - min_of(others_, supply_.total);
  const uint64_t ours = min_of(live, supply_.total);
  supply_.free = min_of(min_of(supply_.free + ours, left), config_.most_superpages);
}

void Agent::start(Directives &directives, const Config &config) {
  config_ = config;
  const DirectivesHeader &header = directives.header();
  const bool same_program = *header.program && strcmp(header.program, config.build_id) == 0;
  same_input_ = header.has_input && config.input_known && header.input == config.input;
  // A slower verdict in a file that names no program was written for this program by hand.
  const bool slower = (same_program || !*header.program) &&
                      header.was_slower_with(config.input_known, config.input);
  policy_ = slower                        ? Policy::kAllBase
            : same_program && same_input_ ? Policy::kSameInput
                                          : Policy::kOtherInput;
  if (header.has_base_input && !(config.input_known && header.base_input == config.input))
    directives.forget_base_history();
  claims_.init(config.shm, config.self, config.alive);
  look_around(0);

  size_t wanting = 0;
  for (size_t i = 0; i < directives.count(); i++) {
    Directives::Entry &e = directives.entries()[i];
    wanting += wants_superpages(e);
    pmb_of_all_ += e.page_shift > kBaseShift ? e.pmb_thousandths : 0;
    if (policy_ == Policy::kAllBase)
      e.decision = DirectiveOutcome::kBase;
  }
  ScratchPages scratch(max_of<size_t>(wanting, 1) * sizeof(Candidate));
  auto *candidates = static_cast<Candidate *>(scratch.data());
  if (!candidates)
    return;
  size_t n = 0;
  for (size_t i = 0; i < directives.count(); i++) {
    const Directives::Entry &e = directives.entries()[i];
    if (wants_superpages(e))
      candidates[n++] = {e.pmb_thousandths, e.superpages, static_cast<uint32_t>(i), e.insists,
                         false};
  }
  // With the same input another build wants as many superpages.
  const Policy order = policy_ == Policy::kOtherInput && same_input_ ? Policy::kSameInput : policy_;
  used_ = min_of(choose(order, candidates, n, supply_.free, bar_), supply_.free);
  if (!config_.possible)
    used_ = 0;
  for (size_t i = 0; i < n; i++)
    directives.entries()[candidates[i].entry].decision =
        candidates[i].taken           ? DirectiveOutcome::kTaken
        : policy_ == Policy::kAllBase ? DirectiveOutcome::kBase
                                      : DirectiveOutcome::kDeferred;
  directives_ = &directives;
  watch_biggest();
}

void Agent::claim() {
  if (!used_ || claims_something_.exchange(true) || !lock_.try_lock())
    return; // or a decision is under way, which will claim
  claims_.exchange(used_, others_);
  lock_.unlock();
}

void Agent::end() {
  uint64_t others;
  if (claims_.claiming())
    claims_.exchange(0, others);
}

void Agent::watch_biggest() {
  for (size_t i = 0; i < directives_->count(); i++) {
    Directives::Entry &e = directives_->entries()[i];
    if (!wants_superpages(e) || e.superpages == 0)
      continue;
    unsigned at = watched_count_ < kMostWatched ? watched_count_++ : kMostWatched;
    for (; at > 0 && watched_[at - 1].entry->superpages < e.superpages; at--)
      if (at < kMostWatched)
        watched_[at].entry = watched_[at - 1].entry;
    if (at < kMostWatched)
      watched_[at].entry = &e;
  }
}

uint64_t Agent::count(DirectiveOutcome decision) const {
  uint64_t n = 0;
  for (size_t i = 0; directives_ && i < directives_->count(); i++)
    n += directives_->entries()[i].decision == decision;
  return n;
}

Agent::Watched *Agent::watched(const Directives::Entry *entry) {
  for (unsigned i = 0; i < watched_count_; i++)
    if (watched_[i].entry == entry)
      return &watched_[i];
  return nullptr;
}

bool Agent::note_live(Directives::Entry *entry, uint64_t live_superpages) {
  Watched *w = watched(entry);
  if (!w || policy_ == Policy::kAllBase || !config_.possible)
    return false;
  w->live.store(live_superpages, std::memory_order_relaxed);
  const uint64_t before = w->at_decision.load(std::memory_order_relaxed);
  const uint64_t moved =
      before > live_superpages ? before - live_superpages : live_superpages - before;
  return moved >= max_of<uint64_t>(kLeastMove, entry->superpages / 4) ||
         due_.load(std::memory_order_relaxed);
}

void Agent::decide_anew(uint64_t now_ns,
                        void (*changed)(Directives::Entry *, DirectiveOutcome, void *),
                        void *data) {
  const uint64_t last = decided_ns_.load(std::memory_order_relaxed);
  if ((last && now_ns - last < kLeastPauseNs) || !lock_.try_lock()) {
    due_.store(true, std::memory_order_relaxed);
    return;
  }
  due_.store(false, std::memory_order_relaxed);
  decided_ns_.store(now_ns, std::memory_order_relaxed);
  uint64_t live_of_all = 0;
  for (unsigned i = 0; i < watched_count_; i++)
    live_of_all += min_of<uint64_t>(watched_[i].live.load(std::memory_order_relaxed), UINT32_MAX);
  look_around(live_of_all);
  Candidate candidates[kMostWatched];
  bool taken[kMostWatched] = {};
  size_t n = 0;
  for (unsigned i = 0; i < watched_count_; i++) {
    Watched &w = watched_[i];
    const Directives::Entry &e = *w.entry;
    const uint64_t live = w.live.load(std::memory_order_relaxed);
    w.at_decision.store(live, std::memory_order_relaxed);
    // The benefit grows with the live memory, up to the profile's prediction.
    const uint64_t share = min_of<uint64_t>(live, e.superpages);
    candidates[n] = {e.pmb_thousandths * share / e.superpages, live, i, e.insists, false};
    // A line below the bar leaves its room to the lines above.
    n += e.insists || e.pmb_thousandths >= bar_;
  }
  // The live memory is known now, so choose as for the same input. Lines without live memory keep
  // their decision. Superpages of lines that are not watched cannot go to others.
  uint64_t supply = supply_.free;
  for (size_t i = 0; i < directives_->count(); i++) {
    const Directives::Entry &e = directives_->entries()[i];
    if (e.decision == DirectiveOutcome::kTaken && wants_superpages(e) && !watched(&e))
      supply -= min_of<uint64_t>(supply, e.superpages);
  }
  const uint64_t chosen = choose(Policy::kSameInput, candidates, n, supply, 0), claimed = used_;
  used_ = min_of(chosen + supply_.free - supply, supply_.free);
  if (used_ != claimed)
    claims_.exchange(used_, others_);
  claims_something_.store(true, std::memory_order_relaxed);
  for (size_t k = 0; k < n; k++)
    taken[candidates[k].entry] = candidates[k].taken;
  for (unsigned i = 0; i < watched_count_; i++) {
    Directives::Entry &e = *watched_[i].entry;
    const DirectiveOutcome before = e.decision;
    if (watched_[i].at_decision.load(std::memory_order_relaxed) == 0)
      continue;
    e.decision = taken[i] ? DirectiveOutcome::kTaken : DirectiveOutcome::kDeferred;
    if (e.decision != before) {
      phases_.fetch_add(1, std::memory_order_relaxed);
      changed(&e, before, data);
    }
  }
  lock_.unlock();
}

uint64_t Agent::worth_ns(const Directives::Entry &entry, uint64_t live_superpages,
                         uint64_t elapsed_ns) const {
  const DirectivesHeader &header = directives_->header();
  const uint64_t run_ms = header.milliseconds, elapsed_ms = elapsed_ns / 1000000;
  if (pmb_of_all_ == 0 || entry.superpages == 0 || header.saved_ms == 0)
    return 0;
  const double share =
      static_cast<double>(entry.pmb_thousandths) / static_cast<double>(pmb_of_all_);
  const double live = static_cast<double>(min_of<uint64_t>(live_superpages, entry.superpages)) /
                      static_cast<double>(entry.superpages);
  // Assume that a run longer than the profile's goes on for as long again.
  const double rest = run_ms == 0 || elapsed_ms >= run_ms
                          ? 1.0
                          : 1.0 - static_cast<double>(elapsed_ms) / static_cast<double>(run_ms);
  return static_cast<uint64_t>(
      min_of(static_cast<double>(header.saved_ms) * 1e6 * share * live * rest,
             static_cast<double>(kMostWorthNs)));
}

} // namespace smalloc
