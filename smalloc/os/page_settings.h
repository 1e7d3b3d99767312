// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// page_settings.h reads the administrator's files under /sys and the process' own switch
// (PR_SET_THP_DISABLE). From them it derives which transparent page sizes a first touch gets, with
// advice (MADV_HUGEPAGE) and without. Since Linux 6.8 each size has a switch of its own, which may
// inherit the general one. Before, there was one size, and the general switch was its own.
#ifndef SMALLOC_OS_PAGE_SETTINGS_H
#define SMALLOC_OS_PAGE_SETTINGS_H

#include "smalloc/os/os_hooks.h"

namespace smalloc {

/// State of one page size for a first touch.
struct SizeSetting {
  bool known = false;     ///< the kernel has a switch for it
  bool advised = false;   ///< advised memory gets this size
  bool unadvised = false; ///< all other memory gets this size too
};

struct PageSettings {
  ThpMode general = ThpMode::kAbsent;
  SizeSetting superpage; ///< 2 MiB
  SizeSetting medium;    ///< 64 KiB ("mTHP")
  /// True under PR_SET_THP_DISABLE: neither advised nor other memory gets superpages.
  bool disabled = false;

  /// True if advice brings superpages, or if `force` is set and a collapse can bring them.
  bool gives_superpages(bool force) const {
    return superpage.advised || (force && general != ThpMode::kAbsent && !disabled);
  }
};

/// Reads the settings. `root`: "/sys", or a test's copy of it.
PageSettings read_page_settings(const OsHooks &os, const char *root);

} // namespace smalloc
#endif
