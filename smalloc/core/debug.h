// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// debug.h decides what is said of a pointer that must not be freed: what was called, the address, and
// which site the object there came from. Wrong pointers among the small objects are known with debug:on
// or abort:true only; with neither they behave as with jemalloc.
#ifndef SMALLOC_CORE_DEBUG_H
#define SMALLOC_CORE_DEBUG_H

#include "smalloc/sites/site_accounts.h"

namespace smalloc {

enum class BadPointer {
  kFreedBefore, ///< an object started there and was freed
  kInside,      ///< points into a live object
  kNoObject,    ///< in our range, where no object starts
};

struct BadPointerReport {
  const char *call = "free"; ///< of the program
  const void *pointer = nullptr;
  BadPointer kind = BadPointer::kNoObject;
  bool site_known = false;
  SiteAccounts::Account account = SiteAccounts::kNoSite;
  uint64_t bytes = 0;  ///< of the object; 0: unknown
  uint64_t offset = 0; ///< kInside
};

/// Two lines on standard error: the error, and a hint. Does not return when `abort_too`.
void report_bad_pointer(const BadPointerReport &report, bool abort_too);

} // namespace smalloc
#endif
