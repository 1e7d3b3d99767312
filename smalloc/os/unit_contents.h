// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// unit_contents.h finds out from its contents whether the program has written a superpage. The
// kernel cannot report that: the first touch makes all of a superpage resident. It samples 16 cache
// lines and looks for bytes other than zero. A page that was never written is zero; a page that the
// program has filled with zeros looks the same.
#ifndef SMALLOC_OS_UNIT_CONTENTS_H
#define SMALLOC_OS_UNIT_CONTENTS_H

namespace smalloc {

/// Implements OsHooks::parts_with_data. Reads 16 cache lines. Cost: 3 us.
unsigned unit_parts_with_data(const void *unit);

} // namespace smalloc
#endif
