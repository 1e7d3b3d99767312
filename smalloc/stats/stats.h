// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// stats.h prints statistics of the heaps in four forms: a table for people; the document
// smalloc.stats/1 for programs, which `smalloc stats PID --json` prints from outside; the struct of
// smalloc.h; and the private jemalloc's own report.
#ifndef SMALLOC_STATS_STATS_H
#define SMALLOC_STATS_STATS_H

#include "smalloc/include/smalloc/smalloc.h"
#include "smalloc/sites/site_accounts.h"

namespace smalloc {

/// Receives the text in pieces.
struct StatisticsSink {
  void (*write)(const char *text, size_t bytes, void *data);
  void *data;
};

void fill_statistics(smalloc_statistics &s);
void print_statistics(const StatisticsSink &sink);
void print_statistics_json(const StatisticsSink &sink);
/// Prints jemalloc's malloc_stats_print with its options ("J": JSON). Prints nothing before the
/// first small object.
void print_jemalloc_statistics(const StatisticsSink &sink, const char *options);

/// Stores the accounts in their display order, largest first: by the peak of live bytes, then by
/// the bytes requested. Returns how many; accounts without both are left out.
unsigned rank_accounts(SiteAccounts::Account *order, unsigned capacity);
const char *strategy_name(uint32_t strategy);
const char *heap_state_name();
/// True if the site's live and peak bytes are known. They are unknown for objects of the program's
/// malloc.
bool is_counted(const smalloc_live_site &site);
/// Returns the agent's decision for a site; nullptr: no directive names it.
const char *site_decision_name(uint32_t agent);

} // namespace smalloc
#endif
