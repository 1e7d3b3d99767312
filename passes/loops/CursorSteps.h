//===- CursorSteps.h - the steps of irregular cursors -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds how a header phi of a loop moves if scalar evolution knows no recurrence for it. The phi
// may not move in every iteration, restart in a new block, or follow pointers.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_CURSORSTEPS_H
#define SMALLOC_PASSES_CURSORSTEPS_H

#include <cstdint>
#include <optional>

namespace llvm {
class DataLayout;
class Loop;
class PHINode;
} // namespace llvm

namespace smalloc {

/// True if the next value of \p Phi, a pointer in the header of \p L, is loaded through \p Phi
/// itself.
bool chasesItself(const llvm::PHINode *Phi, const llvm::Loop *L);

/// Returns the step of a cursor in the header phi \p Phi of \p L that moves into a new block now
/// and then: code that appends to a growing vector. On each path through the loop, the cursor
/// advances by a constant, stays, or starts from an allocation. Nothing if \p Phi is no such
/// cursor.
std::optional<int64_t> appendStep(const llvm::PHINode *Phi, const llvm::Loop *L,
                                  const llvm::DataLayout &DL);

/// Returns the step of an index or a cursor in the header phi \p Phi of \p L that does not move in
/// every iteration (out[count++] = ..., the two inputs of a merge). On each path through the loop,
/// it advances by a constant or by the length of the record there, stays, or restarts from a value
/// that does not move. Nothing if \p Phi is no such index.
std::optional<int64_t> nowAndThenStep(const llvm::PHINode *Phi, const llvm::Loop *L,
                                      const llvm::DataLayout &DL);

} // namespace smalloc
#endif
