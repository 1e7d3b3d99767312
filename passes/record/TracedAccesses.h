//===- TracedAccesses.h - selects the accesses to record ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Selects the memory accesses of an optimised function to record, and one of four ways for each:
// - a walk: all references of an innermost loop have addresses that are known before it starts: one
//   call per loop;
// - steady: in a loop, usually on the same page as last time: one compare, if possible for several
//   accesses together (SteadyRuns.h);
// - scattered: in a loop, usually on another page. The region is hashed first, since most are not
//   sampled. The library drops accesses to pages that the thread has recorded recently.
// - outside: in no loop: hashed.
//
// Selects also the loop nests that get separate versions for recordings. One version is for
// recordings of everything: there a scattered access is recorded without a test. A test between two
// cache misses of the loop would keep the processor from overlapping them.
//
// The first of several neighbours, within a few cache lines, records them all. Stack, thread-local
// and small static data are not recorded: libsmalloc does not place them, and they are always near.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_TRACEDACCESSES_H
#define SMALLOC_PASSES_TRACEDACCESSES_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/PassManager.h"
#include <vector>

namespace llvm {
class BasicBlock;
class Instruction;
class Value;
} // namespace llvm

namespace smalloc {

struct RecordedAccess {
  enum class How { Steady, Scattered, Outside };
  llvm::Instruction *Before = nullptr;
  llvm::Value *Pointer = nullptr; ///< of a gather: a vector of pointers
  llvm::Value *Mask = nullptr;    ///< of a gather's lanes
  bool Writes = false;
  How Kind = How::Outside;
  size_t Run = 0; ///< index of TracedAccesses::Runs, from 1: the access records all of this run
};

/// Steady accesses of one piece of a loop (SteadyAccess::Piece) that move with a counter. The last
/// of them records all, and holds the number of the run.
struct RecordedRun {
  struct Member {
    RecordedAccess Access;
    int64_t Bytes = 0; ///< bytes that the address moves if the counter moves by one
  };
  llvm::Value *Counter = nullptr; ///< i64
  llvm::SmallVector<Member, 4> Members;
};

struct RecordedWalk {
  struct Reference {
    llvm::Value *Start = nullptr;  ///< pointer, in the loop's first iteration
    llvm::Value *Stride = nullptr; ///< i64, bytes an iteration
    bool Writes = false;
  };
  llvm::Instruction *Before = nullptr; ///< the preheader's terminator, or a memory intrinsic
  /// i64: one less than the iterations; of TracedAccesses::Blocks: bytes.
  llvm::Value *BackedgesTaken = nullptr;
  llvm::SmallVector<Reference, 4> References;
};

/// A loop, with everything inside it, that calls nothing and has scattered accesses. Outside the
/// loop only phis use its values.
struct RecordedLoop {
  llvm::BasicBlock *Preheader = nullptr, *Header = nullptr;
  llvm::SmallVector<llvm::BasicBlock *, 8> Blocks;
};

struct TracedAccesses {
  std::vector<RecordedAccess> Accesses;
  std::vector<RecordedRun> Runs;
  std::vector<RecordedWalk> Walks;
  /// memcpy and similar calls: blocks of 16 bytes. BackedgesTaken counts whole bytes and may be 0.
  std::vector<RecordedWalk> Blocks;
  std::vector<RecordedLoop> Loops; ///< no loop is inside another one
  bool empty() const { return Accesses.empty() && Walks.empty() && Blocks.empty(); }
};

/// Returns the accesses of \p F to record. Inserts the values that walks need in front of their
/// loops, and phis after loops. The control flow changes only by missing preheaders.
TracedAccesses tracedAccesses(llvm::Function &F, llvm::FunctionAnalysisManager &FAM);

} // namespace smalloc
#endif
