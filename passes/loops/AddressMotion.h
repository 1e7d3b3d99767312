//===- AddressMotion.h - how an address moves with a loop -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how an address, or any value, moves with one loop around it. Scalar evolution does the
// work, with two optimistic rules (an estimate is wanted, not a proof):
//  1. sign and zero extension of a recurrence is the recurrence;
//  2. a load from a loop-invariant address (struct field, Fortran descriptor, begin/end of a vector)
//     is invariant, unless it loads a number that the loop writes there (LoopWrites).
// Every other address is a gather (it depends on a value loaded at a moving address), a pointer
// chase (a pointer loaded through itself) or irregular in another way (hashes, generators).
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_ADDRESSMOTION_H
#define SMALLOC_PASSES_ADDRESSMOTION_H

#include "llvm/ADT/DenseMap.h"
#include <optional>

namespace llvm {
class LoadInst;
class Loop;
class SCEV;
class SCEVUDivExpr;
class ScalarEvolution;
class Type;
class Value;
} // namespace llvm

namespace smalloc {

class LoopWrites;

enum class Motion {
  None,           ///< the address does not vary with the loop
  Constant,       ///< StrideBytes each iteration
  Symbolic,       ///< a stride that is known at run time only
  Gather,         ///< through a value loaded at a moving address
  GatherOfGather, ///< through a value loaded through a value loaded
  Chase,          ///< a pointer loaded through itself
  Irregular,      ///< anything else: hashes, generators, results of calls
};

inline bool isUnpredictable(Motion M) { return M >= Motion::Gather; }

struct LoopLevel {
  const llvm::Loop *L = nullptr; ///< null: recursion, a caller's loop, or a copy
  bool OfCopy = false;           ///< from the first byte of a copy to its last
  bool Counted = false;          ///< the count of iterations is known, at run time at least
  Motion Kind = Motion::None;
  int64_t StrideBytes = 0; ///< for Motion::Constant
  std::optional<uint64_t>
      Trip; ///< constant, average of a triangular loop, or estimated from a profile
  /// A triangular loop: its count runs evenly from TripMin to TripMax with this loop around it.
  const llvm::Loop *TripOf = nullptr;
  uint64_t TripMin = 0, TripMax = 0;
};

/// The motion of values with one loop; remembers what it was asked.
class MotionQuery {
public:
  /// \p Writes null: what is loaded at an address that does not move does not move.
  MotionQuery(const llvm::Loop *L, llvm::ScalarEvolution &SE, LoopWrites *Writes = nullptr)
      : L(L), SE(SE), Writes(Writes) {}
  LoopLevel of(const llvm::SCEV *S, unsigned Depth = 0);
  const llvm::Loop *loop() const { return L; }

private:
  bool wraps(const LoopLevel &L, llvm::Type *T) const;
  const llvm::SCEVUDivExpr *movingQuotient(const llvm::SCEV *S);
  LoopLevel compute(const llvm::SCEV *S, unsigned Depth);
  LoopLevel ofValue(llvm::Value *V, unsigned Depth);
  LoopLevel ofReloaded(const llvm::LoadInst &Load, unsigned Depth);
  bool isReloaded(const llvm::SCEV *S);

  const llvm::Loop *L;
  llvm::ScalarEvolution &SE;
  LoopWrites *Writes;
  llvm::DenseMap<const llvm::SCEV *, LoopLevel> Known;
};

/// How \p S, an address or a value of a function, moves with \p L.
LoopLevel motionOf(const llvm::SCEV *S, const llvm::Loop *L, llvm::ScalarEvolution &SE);

} // namespace smalloc
#endif
