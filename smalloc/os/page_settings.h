// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// page_settings.h decides what the administrator's files under /sys, and a switch of the process', mean for memory of ours: which
// of the kernel's transparent page sizes a first touch gets, with advice (MADV_HUGEPAGE) and
// without. Since Linux 6.8 each size has a switch of its own, which may inherit the general one;
// before, there was one size, and the general switch was its own.
#ifndef SMALLOC_OS_PAGE_SETTINGS_H
#define SMALLOC_OS_PAGE_SETTINGS_H

#include "smalloc/os/os_hooks.h"

namespace smalloc {

/// What one page size is for a first touch.
struct SizeSetting {
  bool known = false;     ///< the kernel has a switch for it
  bool advised = false;   ///< advised memory gets it
  bool unadvised = false; ///< so does all other memory
};

struct PageSettings {
  ThpMode general = ThpMode::kAbsent;
  SizeSetting superpage; ///< 2 MiB
  SizeSetting medium;    ///< 64 KiB ("mTHP")
  bool disabled =
      false; ///< in this process, whatever the switches say: nothing is advised, nor unadvised

  /// Advice brings superpages, or, where the user insists, a collapse does.
  bool gives_superpages(bool force) const {
    return superpage.advised || (force && general != ThpMode::kAbsent && !disabled);
  }
};

/// root: "/sys", or where a test keeps its own copy.
PageSettings read_page_settings(const OsHooks &os, const char *root);

} // namespace smalloc
#endif
