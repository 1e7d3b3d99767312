//===- SteadyRuns.h - several accesses that come to another page at a count -===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which steady accesses of a loop one compare serves: those whose addresses are a counter of the loop times a constant, plus
// what no loop around it changes. Between two values of the counter all of them stay on their pages, whatever way it comes from
// one to the other: in the rows of a sparse matrix the values and the columns go on where the row before ended.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_STEADYRUNS_H
#define SMALLOC_PASSES_STEADYRUNS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <vector>

namespace llvm {
class Loop;
class SCEV;
class ScalarEvolution;
class Value;
} // namespace llvm

namespace smalloc {

/// Accesses of one piece, between two of its calls.
struct SteadyRun {
  struct Member {
    size_t Index = 0;  ///< of SteadyAccess
    int64_t Bytes = 0; ///< from one value of the counter to the next
  };
  llvm::Value *Counter = nullptr;       ///< i64, a phi of the loop
  llvm::SmallVector<Member, 4> Members; ///< two and more, in the order of the accesses
};

struct SteadyAccess {
  const llvm::SCEV *Address = nullptr;
  llvm::Loop *L = nullptr;
  const void *Piece =
      nullptr; ///< those of one piece are made as often as each other: a block's, or all that each iteration makes
  unsigned Calls = 0; ///< of the piece, before it
};

std::vector<SteadyRun> steadyRuns(llvm::ArrayRef<SteadyAccess> Accesses, llvm::ScalarEvolution &SE);

} // namespace smalloc
#endif
