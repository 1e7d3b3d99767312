//===- SizeConditions.h - what a program asks before it asks for superpages -===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which values of the program stand for the sizes that a walk's verdict depends on (how often loops run, how far apart
// rows lie), and how the program tests them: a comparison or two for each, where they are known, at the allocation or before
// the nest. A test never holds back what other walks ask for: conditions are alternatives.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_SIZECONDITIONS_H
#define SMALLOC_PASSES_SIZECONDITIONS_H

#include "passes/loops/LoopAccesses.h"
#include "passes/spread/PayingSizes.h"
#include "llvm/IR/ValueHandle.h"
#include <string>

namespace llvm {
class Instruction;
class SCEV;
class ScalarEvolution;
} // namespace llvm

namespace smalloc {

/// Sizes of one walk that are known at run time only, with the values that hold them.
struct OpenSizes {
  std::vector<OpenPlace> Places;
  std::vector<const llvm::SCEV *> Values; ///< of each size, 64 bits
};

/// Of \p R, if its loops are counted and it moves by constant or such steps; nothing if sizes do not describe it.
std::optional<OpenSizes> openSizes(const LoopReference &R, llvm::ScalarEvolution &SE);

/// One walk pays while all of these hold.
struct SizeTest {
  const llvm::SCEV *Value;
  SizeBounds Bounds;
};
using SizeCondition = llvm::SmallVector<SizeTest, 4>;
/// One of the walks pays; empty: no matter what sizes.
using SizeConditions = llvm::SmallVector<SizeCondition, 2>;

inline bool operator==(const SizeTest &A, const SizeTest &B) {
  return A.Value == B.Value && A.Bounds.Least == B.Bounds.Least && A.Bounds.Most == B.Bounds.Most;
}

SizeCondition conditionOf(const OpenSizes &Open, const std::vector<SizeBounds> &Bounds);

/// Can the program test these sizes before \p At? (Their values are known there, and cost little.)
bool testableAt(const OpenSizes &Open, const llvm::Instruction &At, llvm::ScalarEvolution &SE);

/// Conditions on values that the program has; a value may be a call that is rewritten before they are tested.
struct SizeTests {
  llvm::SmallVector<llvm::WeakTrackingVH, 4> Sizes; ///< of at most 64 bits, without a sign
  struct Test {
    size_t Size; ///< an index
    SizeBounds Bounds;
  };
  llvm::SmallVector<llvm::SmallVector<Test, 4>, 2> Any; ///< empty: nothing to test
};

/// Has the program compute the sizes before \p At.
SizeTests sizesAt(const SizeConditions &Any, llvm::Instruction &At, llvm::ScalarEvolution &SE);

/// Puts the test before \p At; a value of one bit.
llvm::Value *testAt(const SizeTests &Tests, llvm::Instruction &At);

/// For people: "where the loop at line 9 runs at least 65 times and its steps have at least 2049 bytes".
std::string sizesText(const LoopReference &R, const OpenSizes &Open,
                      const std::vector<SizeBounds> &Bounds);

} // namespace smalloc
#endif
