/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * site_order.h orders sites in a table, for the compiler and the command. Sites that get superpages
 * come first, then those that may get them at run time, then the others; among equals those that
 * pay most.
 */
#ifndef SMALLOC_SITE_ORDER_H
#define SMALLOC_SITE_ORDER_H

#include "smalloc/site.h"

/* Returns a site's rank; 0 comes first. `decision`: enum smalloc_decision. */
static inline int smalloc_site_rank(unsigned decision) {
  return decision == SMALLOC_DECISION_SUPERPAGE ? 0 : decision == SMALLOC_DECISION_RUNTIME ? 1 : 2;
}

/* Returns the cycles saved per access, times the pages that the worst nest touches: without
 * running it, its number of runs is unknown. Returns 0 if the saving is unknown (below 0, or not
 * a number). */
static inline double smalloc_site_benefit(double saving_cycles, uint64_t spread_pages) {
  const uint64_t pages = spread_pages == SMALLOC_UNKNOWN || spread_pages == 0 ? 1 : spread_pages;
  return saving_cycles > 0 && saving_cycles <= 1e300 ? saving_cycles * (double)pages : 0;
}

#endif
