// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// image_superpages.h puts parts of the program itself on superpages when it starts:
//  - program:static, writable segments of at least one whole superpage: the anonymous part (.bss)
//    by advice, before it is touched; the part with a file behind it (.data) by a copy;
//  - program:text, executable segments: collapsed in place if the kernel can (the pages stay the
//    file's, shared by all processes), otherwise by a copy that is private to this process;
//  - program:stack, the main thread's stack: grown at once to its full length, and advised.
// All of them only on the user's request: a sparse array would take more memory, and each process
// pays for its copied text.
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
  /// copy_to_superpages(), or a test's replacement.
  int (*copy)(char *start, size_t bytes, bool executable) = nullptr;
  bool may_copy_data = false;       ///< no other thread runs that could write
  uint64_t units_left = UINT64_MAX; ///< left of the budget
  uint64_t static_units = 0, text_units = 0, stack_units = 0, refused_units = 0;
  int last_error = 0;
};

/// Puts one segment of either kind on superpages. Counts in `pages`.
void put_on_superpages(const ImageSegment &segment, const Options &options, ImagePages &pages);

/// Advises the whole superpages of a stack below its used part. Counts in `pages`.
void put_stack(const StackRange &stack, ImagePages &pages);

/// Handles the whole process as `options` request. Warns in one line, for all kinds together, if
/// the kernel refuses superpages.
void image_superpages_at_start(const Options &options, const OsHooks &os, Counters &counters,
                               void (*warn)(Text));

} // namespace smalloc
#endif
