// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// stats.h decides what a user sees of the heaps' work: a table, and the struct of smalloc.h.
#ifndef SMALLOC_CORE_STATS_H
#define SMALLOC_CORE_STATS_H

#include "smalloc/include/smalloc/site.h"
#include "smalloc/include/smalloc/smalloc.h"

namespace smalloc {
/// Copies what the table says of an image's sites, because the image is about to go.
void statistics_keep_sites(const smalloc_module &module);
void fill_statistics(smalloc_statistics &s);
/// write: called with pieces of the table.
void print_statistics(void (*write)(const char *text, size_t bytes, void *data), void *data);
} // namespace smalloc
#endif
