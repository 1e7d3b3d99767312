//===- PayingSizes.h - loop sizes for which superpages pay -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes for which sizes, known only at run time, superpages pay under a walk. The program tests
// the sizes where it knows them. A size is a loop's trip count or a step; a level may use a
// multiple or product of sizes (the row of an n by m matrix and the loop along it).
//
// Evaluates the spread model at sizes that are typical of big arrays, then with one count at a time
// that of a short run. From a point where superpages pay, finds each size's bounds by bisection
// with the other sizes fixed. So the sizes that pay are approximated by a box. Near the box' edges,
// where one size can make up for another, the answer is wrong. A box is rejected if samples of all
// sizes show that it leaves out much of what pays. Plain arithmetic on numbers.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_PAYINGSIZES_H
#define SMALLOC_PASSES_PAYINGSIZES_H

#include "passes/spread/PageSpread.h"
#include <functional>
#include <optional>

namespace smalloc {

/// A part of a walk that depends on sizes: a loop's trip count, or the bytes between two
/// iterations.
struct OpenPlace {
  size_t Level = 0;          ///< level of the reference
  bool Stride = false;       ///< true: the level's stride; false: its trip count
  std::vector<size_t> Sizes; ///< indices of the sizes that are multiplied
  uint64_t Factor = 1;       ///< constant factor of their product
};

struct SizeBounds {
  uint64_t Least = 0, Most = UINT64_MAX; ///< both included
  bool any() const { return Least <= 1 && Most == UINT64_MAX; }
};

/// Most sizes of a walk; a walk with more gets no bounds.
inline constexpr size_t MaxOpenSizes = 6;

/// A walk with parts that depend on sizes.
struct OpenWalk {
  const SpreadReference &R;
  const std::vector<OpenPlace> &Places;
  size_t Sizes; ///< number of sizes
};

/// Returns for each size of \p Walk the bounds between which \p Pays is true. Returns nothing if
/// \p Pays is false at every point tried at first, or if the bounds leave out much of where it is
/// true. \p Typical: a trip count whose walk is far larger than the reach.
std::optional<std::vector<SizeBounds>>
payingSizes(const OpenWalk &Walk, uint64_t Typical, uint64_t PageBytes,
            const std::function<bool(const SpreadReference &)> &Pays);

} // namespace smalloc
#endif
