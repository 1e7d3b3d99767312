//===- PayingSizes.h - at which sizes of its loops a walk pays --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides for which sizes, known at run time only, superpages under a walk pay: what a program can test where it knows them. A
// size is how often a loop runs, or a step; one may be a multiple of others (the row of an n by m matrix and the loop along
// it). The spread model is asked at sizes that are typical of big arrays, then with short inner runs; from a place where the
// answer is yes, each size's bounds are found by bisection, the others staying where they are. So the sizes that pay are taken
// to be a box: near its edges, where two sizes make up for each other, it is wrong. A box that leaves out much of what pays, by
// samples of all sizes, is none. Plain arithmetic on numbers.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_PAYINGSIZES_H
#define SMALLOC_PASSES_PAYINGSIZES_H

#include "passes/spread/PageSpread.h"
#include <functional>
#include <optional>

namespace smalloc {

/// What of a walk depends on sizes: the count of a loop, or the bytes between two of its iterations.
struct OpenPlace {
  size_t Level = 0; ///< of the reference
  bool Stride = false;
  std::vector<size_t> Sizes; ///< their product
  uint64_t Factor = 1;       ///< and this
};

struct SizeBounds {
  uint64_t Least = 0, Most = UINT64_MAX; ///< both included
  bool any() const { return Least <= 1 && Most == UINT64_MAX; }
};

/// A walk with more sizes has no bounds.
inline constexpr size_t MaxOpenSizes = 6;

/// Bounds of each of \p Sizes sizes between which \p Pays says yes; nothing if it never does where it is asked, or if
/// much of where it does lies between no bounds.
/// \p Typical: a count of iterations that outgrows the reach by far.
std::optional<std::vector<SizeBounds>>
payingSizes(const SpreadReference &R, const std::vector<OpenPlace> &Places, size_t Sizes,
            uint64_t Typical, uint64_t PageBytes,
            const std::function<bool(const SpreadReference &)> &Pays);

} // namespace smalloc
#endif
