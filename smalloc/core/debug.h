// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// debug.h reports a pointer that must not be freed: the call, the address, and the site of the
// object there. Wrong pointers among small objects are detected only with debug:on or abort:true.
// Without them jemalloc's behaviour applies.
#ifndef SMALLOC_CORE_DEBUG_H
#define SMALLOC_CORE_DEBUG_H

#include "smalloc/sites/site_accounts.h"

namespace smalloc {

enum class BadPointer {
  kFreedBefore, ///< an object started there and was freed
  kInside,      ///< points into a live object
  kNoObject,    ///< in libsmalloc's range, where no object starts
};

struct BadPointerReport {
  const char *call = "free"; ///< the program's call
  const void *pointer = nullptr;
  BadPointer kind = BadPointer::kNoObject;
  bool site_known = false;
  SiteAccounts::Account account = SiteAccounts::kNoSite;
  uint64_t bytes = 0;  ///< of the object; 0: unknown
  uint64_t offset = 0; ///< of kInside
};

/// Writes two lines to standard error: the error, and a hint. Does not return if `abort_too`.
void report_bad_pointer(const BadPointerReport &report, bool abort_too);

} // namespace smalloc
#endif
