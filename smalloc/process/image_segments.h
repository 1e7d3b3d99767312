// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// image_segments.h decides how the program's own images (executable and libraries) are looked at and
// put on superpages: by their program headers, in whole superpages, in place or by a copy that takes
// the old pages' place in one step, so that no address changes and nothing is ever writable and
// executable at a time.
#ifndef SMALLOC_PROCESS_IMAGE_SEGMENTS_H
#define SMALLOC_PROCESS_IMAGE_SEGMENTS_H

#include <stddef.h>

namespace smalloc {

/// A loaded segment as the process has it; RELRO, which the loader made read-only, left out.
struct ImageSegment {
  const char *image; ///< file name; "" for the executable
  char *start, *end;
  char *anonymous; ///< from here on no file is behind it (.bss); end: nothing of it is anonymous
  bool writable, executable;
};

/// Segments of the images that are loaded now, in load order, without the loader and the vdso.
void for_each_segment(void (*visit)(const ImageSegment &, void *data), void *data);

/// Replaces a range of whole superpages by anonymous memory with the same contents, on superpages
/// as far as the kernel has them now, and with the protection that is asked for. Returns 0 or an
/// errno value; then nothing has changed. Keeps errno.
/// REQUIRES: nobody writes to the range meanwhile.
int copy_to_superpages(char *start, size_t bytes, bool executable);

/// Number of threads of the process; 0: unknown.
unsigned thread_count();

} // namespace smalloc
#endif
