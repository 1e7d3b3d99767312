// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// own_image.h reduces the part of libsmalloc's own file that stays resident.
#ifndef SMALLOC_PROCESS_OWN_IMAGE_H
#define SMALLOC_PROCESS_OWN_IMAGE_H

namespace smalloc {

/// Drops the pages of libsmalloc's code and constants that the start has used. Pages that the
/// program needs later come back by themselves. Call it after the start. The kernel maps files in
/// pieces of 64 KiB, so nearly all of the library would otherwise stay resident for the few
/// functions in use. REQUIRES: the code is still the file's (program:text replaces it). A
/// debugger's breakpoints in this library are lost.
void drop_own_file_pages();

} // namespace smalloc
#endif
