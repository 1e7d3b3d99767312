//===- UnitSites.h - what is there to decide about in a unit? ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which calls of a unit are allocation sites, which loops' references are asked about, whether a call makes many
// objects, and how much of what analyses know of each function stays in memory.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_UNITSITES_H
#define SMALLOC_PASSES_UNITSITES_H

#include "passes/decisions/BenefitModel.h"
#include "passes/decisions/SiteDecision.h"
#include "passes/pointers/MemoryTouches.h"

namespace smalloc {

/// From here on an object has a superpage of its own.
inline constexpr uint64_t SuperpageBytes = uint64_t(1) << SuperpageShift;

/// Instructions from which on a unit's memory counts more than what is found out twice.
inline constexpr unsigned LargeUnit = 32768;

/// True if \p M has LargeUnit instructions.
bool isLargeUnit(const llvm::Module &M);

class UnitSites {
public:
  UnitSites(llvm::Module &M, llvm::FunctionAnalysisManager &FAM, const Options &O,
            const AllocationWrappers &Wrappers);
  UnitSites(const UnitSites &) = delete; // references are pointed to
  UnitSites &operator=(const UnitSites &) = delete;

  /// The sites of all functions, in program order, and references(); \p Judge is told of both. Once.
  std::vector<SiteDecision> collect(ReferenceBenefit &Judge);
  llvm::ArrayRef<LoopReference> references() const { return References; }
  /// Calls that fill memory, in program order.
  llvm::ArrayRef<Fill> fills() const { return AllFills; }
  /// Is the call executed many times, as far as one can see?
  bool manyObjects(const llvm::CallBase &Call, const SiteDecision &V) const;
  /// May other units make many objects here? Nothing to decide by on its own.
  bool maybeMany(const llvm::CallBase &Call, const SiteDecision &V) const;
  /// Forgets what scalar evolution knows of \p F, and its post-dominators, unless few functions have any: what a later pass asks for
  /// it finds out again, as it would without us, but a large unit must not hold that of all its functions at once.
  void doneWith(llvm::Function &F);

private:
  void collectReferences(llvm::Function &F);
  SiteDecision describe(llvm::CallBase &Call, AllocFamily Family);

  llvm::Module &M;
  llvm::FunctionAnalysisManager &FAM;
  const Options &O;
  const AllocationWrappers &Wrappers;
  llvm::DenseSet<const llvm::Function *> InLoops, FromOutside, Kept;
  size_t KeptInstructions = 0;
  const bool Large;
  std::vector<LoopReference> References;
  std::vector<Fill> AllFills;
};

} // namespace smalloc
#endif
