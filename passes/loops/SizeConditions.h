//===- SizeConditions.h - run-time tests of the sizes of a walk -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the values of the program that hold the sizes on which a walk's benefit depends (trip
// counts, distances of rows), and makes the program test them. A test takes one comparison a size,
// at the allocation, if the sizes are known there. A failed test never prevents superpages that
// another walk asks for: conditions are alternatives.
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

/// The sizes of one walk that are known only at run time, with the values that hold them.
struct OpenSizes {
  std::vector<OpenPlace> Places;
  std::vector<const llvm::SCEV *> Values; ///< 64-bit value of each size
};

/// Returns the open sizes of \p R if its loops are counted and it moves by constant or
/// loop-invariant steps. Nothing if sizes cannot describe \p R.
std::optional<OpenSizes> openSizes(const LoopReference &R, llvm::ScalarEvolution &SE);

/// A test of one size. A walk pays while all tests of its condition hold.
struct SizeTest {
  const llvm::SCEV *Value;
  SizeBounds Bounds;
};
using SizeCondition = llvm::SmallVector<SizeTest, 4>;
/// Alternatives: superpages pay if the condition of any walk holds. Empty: they pay at all sizes.
using SizeConditions = llvm::SmallVector<SizeCondition, 2>;

inline bool operator==(const SizeTest &A, const SizeTest &B) {
  return A.Value == B.Value && A.Bounds.Least == B.Bounds.Least && A.Bounds.Most == B.Bounds.Most;
}

/// Returns the tests of \p Open against \p Bounds, without sizes that are unbounded.
SizeCondition conditionOf(const OpenSizes &Open, const std::vector<SizeBounds> &Bounds);

/// True if the program can test these sizes before \p At: their values are known there and cheap.
bool testableAt(const OpenSizes &Open, const llvm::Instruction &At, llvm::ScalarEvolution &SE);

/// Conditions on values that the program has computed. A value may be a call that is rewritten
/// before the tests are inserted.
struct SizeTests {
  llvm::SmallVector<llvm::WeakTrackingVH, 4> Sizes; ///< unsigned values of at most 64 bits
  struct Test {
    size_t Size; ///< index in Sizes
    SizeBounds Bounds;
  };
  llvm::SmallVector<llvm::SmallVector<Test, 4>, 2> Any; ///< empty: nothing to test
};

/// Inserts code before \p At that computes the sizes of \p Any. Returns no tests if a condition is
/// empty, since its walk pays at all sizes.
SizeTests sizesAt(const SizeConditions &Any, llvm::Instruction &At, llvm::ScalarEvolution &SE);

/// Inserts the tests before \p At; returns their result, a value of one bit: true if all tests of
/// an alternative hold, or if there is none.
llvm::Value *testAt(const SizeTests &Tests, llvm::Instruction &At);

/// Returns a text for users: "where the loop at line 9 runs at least 65 times and its steps have at
/// least 2049 bytes".
std::string sizesText(const LoopReference &R, const OpenSizes &Open,
                      const std::vector<SizeBounds> &Bounds);

} // namespace smalloc
#endif
