//===- KnownFields.h - fields that loops load anew ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop that stores to an array loads the array's pointer, bounds and strides anew in each
// iteration if the compiler cannot exclude that the stores change them. Examples are descriptors of
// Fortran's allocatable components, and in C `for (x = 0; x < image->width; x++)
// image->data[...] = ...`, if the elements have the type of the width or of char. A fill point only
// gives advice, so it may rely on what is probable: a store of a number does not change a field
// that is loaded beside it.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_KNOWNFIELDS_H
#define SMALLOC_PASSES_KNOWNFIELDS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"

#include <optional>

namespace llvm {
class DominatorTree;
class LoadInst;
class Loop;
class LoopInfo;
} // namespace llvm

namespace smalloc {

/// A place in memory that a function loads, at least once.
struct Field {
  llvm::Value *Of = nullptr; ///< pointer to the structure
  int64_t Distance = 0;      ///< bytes from there to the field
  llvm::SmallVector<llvm::LoadInst *, 2> Loads;

  bool isSame(const Field &Other) const;
};

/// Returns the field whose value \p V is: the value of a load, or a phi of loads of the same field.
/// Nothing: \p V is something else.
std::optional<Field> fieldBehind(llvm::Value *V);

/// Loads \p From before \p At.
llvm::LoadInst *loadBefore(const Field &From, llvm::Instruction &At);

/// Makes scalar evolution treat the fields of one nest as invariant: it replaces their values in an
/// expression by instructions at the start of the function. The destructor erases these
/// placeholders.
class KnownFields {
public:
  KnownFields(llvm::Function &F, llvm::ScalarEvolution &SE, const llvm::DominatorTree &DT,
              const llvm::LoopInfo &LI)
      : F(F), SE(SE), DT(DT), LI(LI) {}
  KnownFields(const KnownFields &) = delete;
  KnownFields &operator=(const KnownFields &) = delete;
  ~KnownFields();

  /// True if \p Parts and \p Base (may be null) depend on no value of the loop but its counter and
  /// fields that it probably does not change. Creates the placeholders of these fields.
  bool allKnown(const llvm::Loop &L, llvm::ArrayRef<const llvm::SCEV *> Parts, llvm::Value *Base);
  /// Returns the number of iterations of the loop at most, as 64 bits, if its latch compares a
  /// counter with a field or with an invariant value; else null.
  const llvm::SCEV *mostTripsOf(const llvm::Loop &L);
  /// True if the values of all fields for which allKnown() was true are known before the loop, or
  /// can be loaded there.
  bool areReadableBefore(const llvm::Loop &L) const;

  /// Replaces the fields by their placeholders. Distributes extensions of integers over sums,
  /// products and counters, as if these did not overflow.
  const llvm::SCEV *withPlaceholders(const llvm::SCEV *S);
  /// Replaces the placeholders by values of the fields, which need not be known where the
  /// expression is used.
  const llvm::SCEV *withValues(const llvm::SCEV *S);
  /// Returns the values that withValues() has inserted in \p Parts.
  llvm::SmallVector<llvm::Value *, 4> valuesIn(llvm::ArrayRef<const llvm::SCEV *> Parts) const;

private:
  bool isKept(const llvm::Value *Of, const llvm::Loop &L);
  bool isKnownField(llvm::Value *V, const llvm::Loop &L);
  bool isReadableBefore(const Field &Place, const llvm::BasicBlock &Before,
                        const llvm::Loop &L) const;

  struct Known {
    Field Place;
    llvm::Value *Given;                      ///< one of the values of the field in the function
    const llvm::SCEV *Placeholder = nullptr; ///< null: no expression has needed it
  };
  Known &knownFor(const Field &Place, llvm::Value *V);

  llvm::Function &F;
  llvm::ScalarEvolution &SE;
  const llvm::DominatorTree &DT;
  const llvm::LoopInfo &LI;
  llvm::SmallVector<Known, 4> Fields;
  llvm::ValueToSCEVMapTy Placeholders, Values;
  llvm::DenseMap<std::pair<const llvm::Value *, const llvm::Loop *>, bool> Kept;
};

} // namespace smalloc
#endif
