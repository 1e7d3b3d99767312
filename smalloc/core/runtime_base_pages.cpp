// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// runtime_base_pages.cpp switches libsmalloc off on a system whose base pages are not of 4 KiB, as
// some of arm64 are: the program's malloc serves. It warns once if the user gave a setting, or if
// the program has sites of the plugin.
#include "smalloc/core/runtime.h"
#include "smalloc/process/process_identity.h"

#include <stdlib.h>
#include <sys/auxv.h>

namespace smalloc {

void Runtime::refuse_base_pages(bool privileged) {
  const bool wanted = !options_.heap_given || options_.heap != HeapStrategy::kOff;
  switch_pages_off(options_);
  base_pages_refused_.store(wanted && !privileged, std::memory_order_relaxed);
  const char *conf = getenv("SMALLOC_CONF");
  if (conf && *conf && !parent_has_seen("SMALLOC_CONF", conf, "libsmalloc"))
    warn_of_base_pages();
}

void Runtime::warn_of_base_pages() {
  if (SMALLOC_LIKELY(!base_pages_refused_.exchange(false, std::memory_order_relaxed)))
    return;
  TextBuffer<160> text;
  text.put("base pages of ")
      .number(uint64_t{getauxval(AT_PAGESZ)})
      .put(" bytes: libsmalloc needs ");
  text.number(uint64_t{kBasePageBytes}).put(" and stays off; the program's malloc serves");
  warn(text.text());
}

} // namespace smalloc
