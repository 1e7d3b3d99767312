//===- PageShifts.h - page sizes as logarithms ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names the page sizes that sites, cells and directives may have.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_PAGESHIFTS_H
#define SMALLOC_PASSES_PAGESHIFTS_H

#include <cstdint>

namespace smalloc {

/// Base-2 logarithms of the page sizes, as cell words and directives hold them.
inline constexpr unsigned BaseShift = 12, MediumShift = 16, SuperpageShift = 21, GiganticShift = 30;

/// Least bytes of an object that has a superpage to itself.
inline constexpr uint64_t SuperpageBytes = uint64_t(1) << SuperpageShift;

} // namespace smalloc
#endif
