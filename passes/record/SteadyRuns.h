//===- SteadyRuns.h - steady accesses with one common test ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Groups steady accesses of a loop that one compare can serve. Their addresses are a multiple of
// one loop counter plus a part that no enclosing loop changes. Between two values of the counter
// all of them stay on their pages, however the counter moves. For example, in the rows of a sparse
// matrix the values and the columns continue where the previous row ended.
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
    size_t Index = 0;  ///< index of the SteadyAccess
    int64_t Bytes = 0; ///< from one value of the counter to the next
  };
  llvm::Value *Counter = nullptr;       ///< i64, a phi of the loop
  llvm::SmallVector<Member, 4> Members; ///< at least two, in the order of the accesses
};

struct SteadyAccess {
  const llvm::SCEV *Address = nullptr;
  llvm::Loop *L = nullptr;
  /// A block, or everything that runs in each iteration: its accesses run equally often.
  const void *Piece = nullptr;
  unsigned Calls = 0; ///< calls of the piece before the access
};

/// Returns the runs of \p Accesses, each in one run at most. Entries without a loop belong to none.
/// O(accesses^2 * phis of the loop).
std::vector<SteadyRun> steadyRuns(llvm::ArrayRef<SteadyAccess> Accesses, llvm::ScalarEvolution &SE);

} // namespace smalloc
#endif
