// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// own_image.h decides how much of this library's own file stays in the process' memory.
#ifndef SMALLOC_PROCESS_OWN_IMAGE_H
#define SMALLOC_PROCESS_OWN_IMAGE_H

namespace smalloc {

/// Gives the pages of our code and constants back that a start has run through; what is called again
/// comes back by itself. For after a start: the kernel maps files in pieces of 64 KiB, so that nearly
/// all of the library would stay resident for the few functions that a program goes on calling.
/// REQUIRES: the code is still the file's (text:on replaces it). A debugger's breakpoints in this
/// library are lost.
void drop_own_file_pages();

} // namespace smalloc
#endif
