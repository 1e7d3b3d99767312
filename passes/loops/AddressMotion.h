//===- AddressMotion.h - how an address moves with a loop -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds how an address, or any value, moves with one loop around it. Scalar evolution does most of
// the work, with two optimistic rules, since the result is an estimate and no proof:
//  1. The sign or zero extension of a recurrence is the recurrence. So is its truncation, unless
//     the narrow value wraps within a few iterations.
//  2. A load from a loop-invariant address (struct field, Fortran descriptor, vector begin/end) is
//     invariant, unless it loads an integer that the loop writes there (LoopWrites).
// Every other address is a gather (it depends on a value loaded at a moving address), a pointer
// chase (a pointer loaded through itself), or irregular in another way (hashes, generators).
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_ADDRESSMOTION_H
#define SMALLOC_PASSES_ADDRESSMOTION_H

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace llvm {
class CallBase;
class Instruction;
class LoadInst;
class Loop;
class PHINode;
class SCEV;
class SCEVAddRecExpr;
class SCEVNAryExpr;
class SCEVUDivExpr;
class ScalarEvolution;
class Type;
class Value;
} // namespace llvm

namespace smalloc {

class LoopWrites;

enum class Motion {
  None,           ///< the address does not vary with the loop
  Constant,       ///< the address moves by StrideBytes in each iteration
  Symbolic,       ///< the stride is known only at run time
  Gather,         ///< the address depends on a value loaded at a moving address
  GatherOfGather, ///< the address depends on a value loaded through another loaded value
  Chase,          ///< a pointer loaded through itself
  Irregular,      ///< anything else: hashes, generators, results of calls
};

inline bool isUnpredictable(Motion M) { return M >= Motion::Gather; }

struct LoopLevel {
  const llvm::Loop *L = nullptr; ///< null: recursion, a caller's loop, or a copy
  bool OfCopy = false;           ///< the level stands for a copy, from its first byte to its last
  bool Counted = false;          ///< the trip count is known, at least at run time
  Motion Kind = Motion::None;
  int64_t StrideBytes = 0; ///< bytes per iteration, for Motion::Constant
  /// Trip count: constant, average of a triangular loop, or estimated from a profile.
  std::optional<uint64_t> Trip;
  /// Set for a triangular loop: the loop around it with which its count runs evenly from TripMin to
  /// TripMax.
  const llvm::Loop *TripOf = nullptr;
  uint64_t TripMin = 0, TripMax = 0;
};

/// Finds the motion of values with one loop; caches the results. What of() returns for a value does
/// not depend on the queries before.
class MotionQuery {
public:
  /// Asks \p Writes whether the loop writes a loaded integer. Null: values loaded at an address
  /// that does not move count as invariant.
  MotionQuery(const llvm::Loop *L, llvm::ScalarEvolution &SE, LoopWrites *Writes = nullptr)
      : L(L), SE(SE), Writes(Writes) {}
  /// Returns how \p S moves with the loop, in Kind and StrideBytes; \p Depth: depth of the
  /// recursion.
  LoopLevel of(const llvm::SCEV *S, unsigned Depth = 0);
  const llvm::Loop *loop() const { return L; }

private:
  bool wraps(const LoopLevel &L, llvm::Type *T) const;
  const llvm::SCEVUDivExpr *movingQuotient(const llvm::SCEV *S);
  /// The motion of a value. It is not settled while it is computed, if it depends on an unsettled
  /// one, or if the recursion ended at MaxMotionDepth. Then it holds for the present query only.
  struct Answer {
    LoopLevel Level;
    bool Settled = false;
  };
  LoopLevel compute(const llvm::SCEV *S, unsigned Depth);
  LoopLevel ofSum(const llvm::SCEVNAryExpr *S, unsigned Depth);
  LoopLevel ofProduct(const llvm::SCEVNAryExpr *S, unsigned Depth);
  LoopLevel ofQuotient(const llvm::SCEVUDivExpr *S, unsigned Depth);
  LoopLevel ofRecurrence(const llvm::SCEVAddRecExpr *S, unsigned Depth);
  LoopLevel ofExtreme(const llvm::SCEVNAryExpr *S, unsigned Depth);
  LoopLevel ofValue(llvm::Value *V, unsigned Depth);
  LoopLevel ofHeaderPhi(const llvm::PHINode &Phi, unsigned Depth);
  LoopLevel ofMerge(const llvm::PHINode &Phi, unsigned Depth);
  LoopLevel ofOperands(const llvm::Instruction &I, unsigned Depth);
  bool keepsEndOfRow(const llvm::PHINode &Phi, unsigned Depth);
  bool isReloaded(const llvm::PHINode &Phi, unsigned Depth);
  LoopLevel ofReloaded(const llvm::LoadInst &Load, unsigned Depth);
  bool isReloaded(const llvm::SCEV *S);
  // Numbers of floating point, in FloatMotion.cpp.
  LoopLevel ofFloat(llvm::Value *V, unsigned Depth);
  LoopLevel ofFloatInstruction(llvm::Instruction &I, unsigned Depth);
  LoopLevel ofFloatPhi(const llvm::PHINode &Phi, unsigned Depth);
  LoopLevel ofFloatCall(const llvm::CallBase &Call, unsigned Depth);
  LoopLevel ofFloatProduct(llvm::Value *A, llvm::Value *B, unsigned Depth);
  LoopLevel ofFloatQuotient(llvm::Value *A, llvm::Value *B, unsigned Depth);

  const llvm::Loop *L;
  llvm::ScalarEvolution &SE;
  LoopWrites *Writes;
  llvm::DenseMap<const llvm::SCEV *, Answer> Known;
  llvm::DenseMap<const llvm::Value *, Answer> KnownFloats;
  llvm::DenseMap<const llvm::SCEV *, LoopLevel> Asked; ///< answers to queries that did not settle
  llvm::SmallVector<const llvm::SCEV *, 8> Passing;    ///< keys in Known that are to be erased
  llvm::SmallVector<const llvm::Value *, 2> PassingFloats;
  bool IsAsked = false;   ///< a query is running
  unsigned Unsettled = 0; ///< unsettled answers that were used
};

/// Most nested expressions that a query searches.
constexpr unsigned MaxMotionDepth = 24;

/// Returns a motion of \p Kind; \p Stride: bytes per iteration, for Motion::Constant.
LoopLevel motionLevel(Motion Kind, int64_t Stride = 0);

/// Returns the motion of the sum of two parts.
LoopLevel motionSum(const LoopLevel &A, const LoopLevel &B);

/// Returns how \p S, an address or a value of a function, moves with \p L.
LoopLevel motionOf(const llvm::SCEV *S, const llvm::Loop *L, llvm::ScalarEvolution &SE);

} // namespace smalloc
#endif
