// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// runtime_promise.cpp computes promotion credit for the heap of small objects from directives. A
// superpage that a hypervisor has to find costs more than a loop has earned when it begins
// (ski_rental.h). A gain that a profile has measured need not be earned again.
#include "smalloc/agent/agent.h"
#include "smalloc/core/runtime.h"
#include "smalloc/sites/modules.h"
#include "smalloc/sites/object_placement.h"

namespace smalloc {
namespace {

/// Held during the computation. If a child is forked meanwhile, it stays held there for ever: the
/// run is its parent's.
std::atomic<bool> g_asking{false};
uint64_t g_promised_ns = 0;                ///< promised so far, for a whole run
std::atomic<uint64_t> g_asked_at_bytes{0}; ///< size of the heap at the last computation

/// Directives for superpages, and which of them name a site of this process. The recorded build
/// differs from the build that runs with the profile. If this process has all named sites, both
/// come from the same source.
struct Named {
  static constexpr unsigned kMost = 64;
  const Directives::Entry *line[kMost];
  bool here[kMost] = {};
  unsigned count = 0;
  bool too_many = false;
  Named() {
    for (size_t i = 0; i < g_directives.count(); i++) {
      const Directives::Entry &entry = g_directives.entries()[i];
      if (entry.page_shift <= kMediumShift)
        continue;
      too_many |= count == kMost;
      if (!too_many)
        line[count++] = &entry;
    }
  }
  void found(const Directives::Entry *entry) {
    for (unsigned i = 0; i < count; i++)
      here[i] |= line[i] == entry;
  }
  bool all() const {
    for (unsigned i = 0; i < count; i++)
      if (!here[i])
        return false;
    return !too_many;
  }
};

/// Sum of the promises to sites that have had only small objects and have no NUMA hint.
struct Promised {
  uint64_t elapsed_ns, whole_ns, rest_ns; ///< promised: in a whole run, and in the rest of it
  Named named;
  static bool has_had_big(const Directives::Entry *entry) {
    const SiteAccounts::Footprint f = g_accounts.footprint(entry);
    return g_accounts.tracks_small() ? f.superpages != 0 : f.live_bytes_peak != 0;
  }
  static void add(const smalloc_site *site, smalloc_cell *cell, void *data) {
    auto &sum = *static_cast<Promised *>(data);
    const Directives::Entry *entry =
        g_directives.find(site->id, context_hash(site_string(site, site->context)));
    if (entry)
      sum.named.found(entry);
    if (!entry || __atomic_load_n(&cell->requested_bytes, __ATOMIC_RELAXED) == 0 ||
        g_placement.of(site).kind != numa::PlacementKind::kNone ||
        entry->decision != DirectiveOutcome::kTaken ||
        uint64_t{1} << entry->page_shift < kSuperpageBytes || has_had_big(entry))
      return;
    const auto more = [&](uint64_t so_far, uint64_t elapsed) {
      return min_of(so_far + g_agent.worth_ns(*entry, entry->superpages, elapsed),
                    Agent::kMostWorthNs);
    };
    sum.whole_ns = more(sum.whole_ns, 0);
    sum.rest_ns = more(sum.rest_ns, sum.elapsed_ns);
  }
};

} // namespace

/// Returns half of the gain promised for the rest of the run, in nanoseconds, each site's once.
/// Only if the input is the profile's. Computed again when the heap has doubled: other sites may
/// have begun. Takes the modules' lock: not for signal handlers.
uint64_t Runtime::promised_to_small(uint64_t live_bytes) {
  if (!g_agent.has_same_input() ||
      live_bytes < 2 * g_asked_at_bytes.load(std::memory_order_relaxed) || g_asking.exchange(true))
    return 0;
  g_asked_at_bytes.store(max_of<uint64_t>(live_bytes, kSuperpageBytes), std::memory_order_relaxed);
  Promised sum = {elapsed_ns(), 0, 0, {}};
  modules_for_each_site(Promised::add, &sum);
  uint64_t more = 0;
  const bool ours = g_agent.policy() == Policy::kSameInput || sum.named.all();
  if (ours && sum.whole_ns > g_promised_ns) {
    more = static_cast<uint64_t>(static_cast<double>(sum.whole_ns - g_promised_ns) *
                                 static_cast<double>(sum.rest_ns) /
                                 static_cast<double>(sum.whole_ns) / 2);
    g_promised_ns = sum.whole_ns;
  }
  g_asking.store(false);
  return more;
}

} // namespace smalloc
