//===- UnitSites.h - allocation sites and references of a unit ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collects the allocation sites of a unit, the references of its loops, and the calls that fill
// memory. Estimates whether a call allocates many objects. Discards analyses of functions to limit
// the memory that they take.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_UNITSITES_H
#define SMALLOC_PASSES_UNITSITES_H

#include "passes/decisions/BenefitModel.h"
#include "passes/decisions/SiteDecision.h"
#include "passes/pointers/MemoryTouches.h"
#include "llvm/ADT/DenseSet.h"

namespace smalloc {

/// Least instructions of a large unit. In a large unit, memory counts more than computing an
/// analysis twice.
inline constexpr unsigned LargeUnit = 32768;

/// True if \p M has at least LargeUnit instructions.
bool isLargeUnit(const llvm::Module &M);

class UnitSites {
public:
  UnitSites(llvm::Module &M, llvm::FunctionAnalysisManager &FAM, const Options &O,
            const AllocationWrappers &Wrappers);
  UnitSites(const UnitSites &) = delete; // others hold pointers to references
  UnitSites &operator=(const UnitSites &) = delete;

  /// Returns the sites of all functions, in program order, and fills references(). Passes both to
  /// \p Judge. Must be called once.
  std::vector<SiteDecision> collect(ReferenceBenefit &Judge);
  llvm::ArrayRef<LoopReference> references() const { return References; }
  /// Returns the calls that fill memory, in program order.
  llvm::ArrayRef<Fill> fills() const { return AllFills; }
  /// True if the unit shows that \p Call allocates many objects below a superpage.
  bool manyObjects(const llvm::CallBase &Call, const SiteDecision &V) const;
  /// True if other units may make \p Call allocate many objects below a superpage. This alone
  /// decides nothing.
  bool maybeMany(const llvm::CallBase &Call, const SiteDecision &V) const;
  /// Discards the scalar evolution and post-dominators of \p F unless they are few. A later pass
  /// computes them again, as it would without smalloc. A large unit must not hold them for all its
  /// functions at once.
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

/// The analyses of a unit that its decisions and its summary read.
struct UnitInputs {
  llvm::Module &M;
  llvm::FunctionAnalysisManager &FAM;
  const Options &O;
  const AllocationWrappers &Wrappers;
  PointerOrigins &Origins;
  ReferenceBenefit &Judge;
  UnitSites &Sites;
};

} // namespace smalloc
#endif
