// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// stats.h decides what a program says of its heaps' work: a table for people, the document
// smalloc.stats/1 for programs (what `smalloc stats PID --json` prints from outside), the struct of
// smalloc.h, and the private jemalloc's own report.
#ifndef SMALLOC_STATS_STATS_H
#define SMALLOC_STATS_STATS_H

#include "smalloc/include/smalloc/smalloc.h"
#include "smalloc/sites/site_accounts.h"

namespace smalloc {

/// Called with pieces of the text.
struct StatisticsSink {
  void (*write)(const char *text, size_t bytes, void *data);
  void *data;
};

void fill_statistics(smalloc_statistics &s);
void print_statistics(const StatisticsSink &sink);
void print_statistics_json(const StatisticsSink &sink);
/// jemalloc's malloc_stats_print; options as there ("J": JSON). Nothing before the first small
/// object.
void print_jemalloc_statistics(const StatisticsSink &sink, const char *options);

/// The accounts in the order in which they are shown, biggest first: by the most bytes that were
/// live, then by the bytes requested. Returns how many; accounts without anything are left out.
unsigned rank_accounts(SiteAccounts::Account *order, unsigned capacity);
const char *strategy_name(uint32_t strategy);
const char *heap_state_name();
/// Are the site's live and peak bytes known? Not of objects that were left to the program's malloc.
bool is_counted(const smalloc_live_site &site);
/// Of a site by the agent: nullptr: no directive speaks of it.
const char *site_decision_name(uint32_t agent);

} // namespace smalloc
#endif
