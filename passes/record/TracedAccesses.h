//===- TracedAccesses.h - which accesses a profile holds, and how -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which memory accesses of an optimised function are told to a recording, and in which of four ways:
//  - a walk: all references of an innermost loop have addresses that are known before it starts: one call a loop;
//  - steady: in a loop, mostly on the page of the time before: one compare, if need be for several together (SteadyRuns.h);
//  - scattered: in a loop, mostly on another page: hashed first, as most are not sampled; which of them are on pages that the thread
//    has told lately the library finds out;
//  - outside: in no loop: hashed.
// And which nests of loops get versions of their own for recordings, one of them for recordings of everything, in which a scattered access
// is told without a look at it: what stands between two of its cache misses keeps the processor from overlapping them.
// Neighbours on one cache line or so are told by the first of them. Stack, thread-local and small static data are not
// told: they are not ours to place, and always near.
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
  size_t Run = 0; ///< of TracedAccesses::Runs, from 1: it is told for all of this
};

/// Steady accesses of one block that move with a counter, the last of them told with this one's number.
struct RecordedRun {
  struct Member {
    RecordedAccess Access;
    int64_t Bytes = 0; ///< that its address goes on by where the counter does by one
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
  llvm::Instruction *Before = nullptr;   ///< the preheader's terminator, or a memory intrinsic
  llvm::Value *BackedgesTaken = nullptr; ///< i64: iterations but one
  llvm::SmallVector<Reference, 4> References;
};

/// A loop, with what is inside it, that calls nothing and has scattered accesses. Its values are used outside by phis alone.
struct RecordedLoop {
  llvm::BasicBlock *Preheader = nullptr, *Header = nullptr;
  llvm::SmallVector<llvm::BasicBlock *, 8> Blocks;
};

struct TracedAccesses {
  std::vector<RecordedAccess> Accesses;
  std::vector<RecordedRun> Runs;
  std::vector<RecordedWalk> Walks;
  /// memcpy and its like: blocks of 16 bytes, BackedgesTaken counts whole bytes and may be 0.
  std::vector<RecordedWalk> Blocks;
  std::vector<RecordedLoop> Loops; ///< none is in another one
  bool empty() const { return Accesses.empty() && Walks.empty() && Blocks.empty(); }
};

/// Inserts the values that walks need in front of their loops, and phis behind loops; the control flow stays but for missing preheaders.
TracedAccesses tracedAccesses(llvm::Function &F, llvm::FunctionAnalysisManager &FAM);

} // namespace smalloc
#endif
