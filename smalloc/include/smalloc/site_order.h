/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * site_order.h decides which of two sites stands first in a table of sites, for the compiler and the command: what gets superpages
 * before what may at run time and what does not, and among these what pays most.
 */
#ifndef SMALLOC_SITE_ORDER_H
#define SMALLOC_SITE_ORDER_H

#include "smalloc/site.h"

/* 0 stands first. decision: enum smalloc_decision. */
static inline int smalloc_site_rank(unsigned decision) {
  return decision == SMALLOC_DECISION_SUPERPAGE ? 0 : decision == SMALLOC_DECISION_RUNTIME ? 1 : 2;
}

/* Cycles saved an access, times the pages that the worst nest walks: how often it runs is not known without running it. Nothing where
 * the saving is not known (below 0, or no number). */
static inline double smalloc_site_benefit(double saving_cycles, uint64_t spread_pages) {
  const uint64_t pages = spread_pages == SMALLOC_UNKNOWN || spread_pages == 0 ? 1 : spread_pages;
  return saving_cycles > 0 && saving_cycles <= 1e300 ? saving_cycles * (double)pages : 0;
}

#endif
