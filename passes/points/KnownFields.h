//===- KnownFields.h - fields that loops load anew ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop that stores to an array loads the array's pointer, bounds and strides anew in each
// iteration if the compiler cannot exclude that the stores change them. Examples are descriptors of
// Fortran's allocatable components. A fill point only gives advice, so it may rely on what is
// probable: a store of a number does not change a field that is loaded beside it.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_KNOWNFIELDS_H
#define SMALLOC_PASSES_KNOWNFIELDS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"

#include <utility>

namespace llvm {
class LoadInst;
class Loop;
} // namespace llvm

namespace smalloc {

/// Returns the address that \p Load reads, as a pointer and a distance in bytes.
std::pair<llvm::Value *, int64_t> fieldOf(const llvm::LoadInst &Load);

/// Makes scalar evolution treat the fields of one nest as invariant: it replaces the loads in an
/// expression by instructions at the start of the function. The destructor erases these
/// placeholders.
class KnownFields {
public:
  KnownFields(llvm::Function &F, llvm::ScalarEvolution &SE) : F(F), SE(SE) {}
  KnownFields(const KnownFields &) = delete;
  KnownFields &operator=(const KnownFields &) = delete;
  ~KnownFields();

  /// True if \p Parts and \p Base depend on no value of the loop but its counter and fields that it
  /// probably does not change. Creates the placeholders of these fields.
  bool allKnown(const llvm::Loop &L, llvm::ArrayRef<const llvm::SCEV *> Parts, llvm::Value *Base);
  /// Replace the loads by their placeholders, and the placeholders by the loads.
  const llvm::SCEV *withPlaceholders(const llvm::SCEV *S);
  const llvm::SCEV *withLoads(const llvm::SCEV *S);

private:
  bool isKept(const llvm::LoadInst &Load, const llvm::Loop &L) const;

  llvm::Function &F;
  llvm::ScalarEvolution &SE;
  llvm::ValueToSCEVMapTy Placeholders, Loads;
};

} // namespace smalloc
#endif
