// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// site_words.h sets the words of sites' cells from four sources: the compiler's decision, the
// strategy of SMALLOC_CONF, the joined summaries of an image's units, and the directives.
#ifndef SMALLOC_SITES_SITE_WORDS_H
#define SMALLOC_SITES_SITE_WORDS_H

#include "smalloc/config/options.h"
#include "smalloc/include/smalloc/site.h"

namespace smalloc {

/// smalloc_module::barred: the sites that stay with the program's malloc.
enum Barred : uint32_t { kNoSites, kCxxSites, kAllSites };

struct ServedSites {
  HeapStrategy strategy;         ///< of the image
  HeapStrategy process_strategy; ///< of the process
  bool serves_process;           ///< libsmalloc is the process' malloc
};

/// Sets the words of the sites of `module`. REQUIRES: its `barred` is set.
void set_site_words(smalloc_module &module, const ServedSites &served);
/// Applies the directives to all registered images, after the agent has decided anew.
void modules_obey_directives(const ServedSites &served);
/// True if a site of a registered image has pages of 1 << page_shift bytes, by a directive or by a
/// profile at compile time.
bool modules_name_page(unsigned page_shift);

} // namespace smalloc
#endif
