// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// image_superpages.h decides which parts of the program itself go on superpages when it starts:
//  - static:on, writable segments of at least one whole superpage: the anonymous part (.bss) by
//    advice, before it is touched; the part with a file behind it (.data) by a copy;
//  - text:on, executable segments: collapsed in place where the kernel can (the pages stay the
//    file's, shared by all processes), otherwise by a copy that is this process' own;
//  - stack:on, the main thread's stack: lengthened at once to what it may become, and advised.
// All only because the user asked: a sparse array takes memory, copied text is paid per process.
#ifndef SMALLOC_PAGES_IMAGE_SUPERPAGES_H
#define SMALLOC_PAGES_IMAGE_SUPERPAGES_H

#include "smalloc/config/options.h"
#include "smalloc/os/os_hooks.h"
#include "smalloc/pages/counters.h"
#include "smalloc/process/image_segments.h"
#include "smalloc/process/main_stack.h"

namespace smalloc {

struct ImagePages {
  const OsHooks *os = nullptr;
  /// copy_to_superpages(), or a test's.
  int (*copy)(char *start, size_t bytes, bool executable) = nullptr;
  bool may_copy_data = false;       ///< nobody else runs, so nobody writes
  uint64_t units_left = UINT64_MAX; ///< budget
  uint64_t static_units = 0, text_units = 0, stack_units = 0, refused_units = 0;
  int last_error = 0;
};

/// One segment, either kind. Counts in `pages`.
void put_on_superpages(const ImageSegment &segment, const Options &options, ImagePages &pages);

/// The whole superpages of a stack below what is in use. Counts in `pages`.
void put_stack(const StackRange &stack, ImagePages &pages);

/// All of the process, when options ask for it; warns with one line a kind when the kernel cannot.
void image_superpages_at_start(const Options &options, const OsHooks &os, Counters &counters,
                               void (*warn)(Text));

} // namespace smalloc
#endif
