// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// image_segments.h finds the segments of the program's executable and libraries and puts whole
// superpages of them on superpages. It works in place, or by a copy that replaces the old pages in
// one step. No address changes, and no page is ever writable and executable at once.
#ifndef SMALLOC_PROCESS_IMAGE_SEGMENTS_H
#define SMALLOC_PROCESS_IMAGE_SEGMENTS_H

#include <stddef.h>

namespace smalloc {

/// A loaded segment of the process without RELRO, which the loader made read-only.
struct ImageSegment {
  const char *image; ///< file name; "" for the executable
  char *start, *end;
  char *anonymous; ///< start of the part that no file backs (.bss); equal to `end`: none
  bool writable, executable;
};

/// Calls `visit` for the segments of all loaded images in load order, except the loader and the
/// vdso.
void for_each_segment(void (*visit)(const ImageSegment &, void *data), void *data);

/// Replaces a range of whole superpages by anonymous memory with the same contents. The new memory
/// is on superpages as far as the kernel has them now, and executable if `executable`. Returns 0,
/// or an errno value if nothing has changed. Keeps errno. REQUIRES: no thread writes to the range
/// meanwhile.
int copy_to_superpages(char *start, size_t bytes, bool executable);

/// Returns the number of threads of the process; 0: unknown.
unsigned thread_count();

} // namespace smalloc
#endif
