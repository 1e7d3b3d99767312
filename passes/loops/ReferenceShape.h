//===- ReferenceShape.h - references as walks of the spread model ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Describes a reference of the unit as a walk in numbers, which the spread model evaluates. Assumes
// numbers for what is known at run time only.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_REFERENCESHAPE_H
#define SMALLOC_PASSES_REFERENCESHAPE_H

#include "passes/loops/LoopReference.h"
#include "passes/spread/PageSpread.h"
#include "smalloc/site.h"

namespace smalloc {

/// Numbers of loops. Number 1 stands for recursion or a loop of the caller.
using LoopNumbers = llvm::SmallDenseMap<const llvm::Loop *, unsigned, 16>;

/// Returns \p R as a walk over an object of \p ObjectBytes. References of one nest share \p Loops.
SpreadReference numbers(const LoopReference &R, uint64_t ObjectBytes, uint64_t PageBytes,
                        LoopNumbers &Loops);
/// Returns the pattern of \p R. A step of at most \p MaxStreamStride bytes is streaming.
smalloc_pattern patternOf(const LoopReference &R, uint64_t MaxStreamStride);
/// Returns all properties by which a walk is evaluated if it is alone in its nest and its object's
/// size is unknown.
std::vector<uint64_t> shapeOf(const SpreadReference &Own);
/// Returns \p R inside one more loop of \p Times iterations; 0: returns \p R unchanged.
LoopReference insideOneMore(const LoopReference &R, uint64_t Times);
/// True if \p R walks a linked structure, or an array of pointers to objects, and no outer loop
/// returns to its pages.
bool walksOnce(const LoopReference &R);
/// True if all trip counts are known.
bool tripsKnown(const LoopReference &R);
/// True if all strides are known.
bool shapeKnown(const LoopReference &R);

} // namespace smalloc
#endif
