//===- Verdict.h - superpages for this site? --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides, for each allocation site of a unit: superpages, base pages, or at run time from which size; and says why.
// Inputs are the references that reach the site (LoopAccesses, PointerOrigins) and the machine's reach.
//
// A site that only known accesses reach and that gains nothing stays a plain call for good. One whose pointer leaves
// the unit is never "base for good": it stays steerable (undecided), because unknown is the normal case in programs
// of several files.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_VERDICT_H
#define SMALLOC_PASSES_VERDICT_H

#include "AccessCoverage.h"
#include "AllocationSites.h"
#include "AllocationWrappers.h"
#include "FillPoints.h"
#include "KeyedSummary.h"
#include "LoopAccesses.h"
#include "MemoryTouches.h"
#include "Options.h"
#include "PointerOrigins.h"
#include "SizeConditions.h"
#include <string>
#include <vector>

namespace smalloc {

/// Instructions from which on a unit's memory counts more than what is found out twice.
inline constexpr unsigned LargeUnit = 32768;

/// Page sizes as cells' words and directives name them.
inline constexpr unsigned BaseShift = 12, MediumShift = 16, SuperpageShift = 21, GiganticShift = 30;

/// What one reference does with a site's objects.
struct ReferenceRow {
  std::string Function;
  unsigned Line = 0, Column = 0;
  smalloc_pattern Pattern = SMALLOC_PATTERN_NONE;
  double Pages = -1, Accesses = -1; ///< negative: known at run time only
  double Misses = 0, Exposed = 0, Saving = 0;
  uint64_t MinBytes = SMALLOC_UNKNOWN; ///< pays from here on
};

/// What is known and decided of one allocation call.
struct SiteVerdict {
  llvm::CallBase *Call = nullptr; ///< null: a variable of the program (StaticArrays)
  const llvm::GlobalVariable *Variable = nullptr;
  const llvm::Instruction *Access = nullptr; ///< of a variable: the access that decided
  AllocFamily Family = AllocFamily::Malloc;
  std::string Callee;                         ///< linkage name
  const AllocationWrapper *Wrapper = nullptr; ///< of a context whose callee is in the unit
  /// A context whose callee only has the form of an allocator: the linker will know.
  bool Guessed = false;
  uint64_t Id = 0;
  std::string
      Name; ///< of the record's symbol: the same for copies of an ODR function in other units
  uint64_t Node = 0; ///< in the graph of smalloc_keys
  std::string Function, File, Context;
  std::string Array; ///< what the source calls the memory
  unsigned Line = 0, Column = 0;
  uint64_t SizeBytes = SMALLOC_UNKNOWN;
  uint64_t ElementBytes = 0;
  std::string
      SizeText; ///< for people: "8000000 bytes", "n objects of 48 bytes", "a size known at run time"

  smalloc_pattern Pattern = SMALLOC_PATTERN_UNKNOWN;
  smalloc_decision Decision = SMALLOC_DECISION_BASE;
  smalloc_decided_by DecidedBy = SMALLOC_BY_COMPILER;
  unsigned PageShift =
      SuperpageShift; ///< of the pages that it is to have, unless it stays on base pages
  unsigned Flags = 0; ///< SMALLOC_SITE_*
  uint64_t SpreadPages = SMALLOC_UNKNOWN;
  std::string SpreadText;
  double MissesPerAccess = -1;
  double SavingCycles = -1; ///< per access; translation only
  uint64_t FaultsSaved = SMALLOC_UNKNOWN;
  uint32_t Worth = 0; ///< as smalloc_site::worth
  uint64_t MinBytes = SMALLOC_UNKNOWN;
  SizeConditions
      When; ///< superpages only where one of them holds, if the compiler's decision is to last
  unsigned Confidence = 0;
  std::string Why;
  std::vector<ReferenceRow> References; ///< for the site table only

  bool steerable() const { return Flags & SMALLOC_SITE_REWRITTEN; }
};

/// A nest that pays if the object it walks is big: where a promotion point belongs.
struct ProfitableNest {
  const llvm::Loop *Outermost = nullptr;
  llvm::Function *F = nullptr;
  LoopReference Reference;
  bool Foreign = false; ///< no site of the unit is known to make the object
};

struct UnitVerdicts {
  std::vector<SiteVerdict> Sites;   ///< in program order
  std::vector<SiteVerdict> Statics; ///< variables; nothing is rewritten for them
  std::vector<ProfitableNest> Nests;
  FillCandidates Fills;
  bool OriginsGaveUp = false;
  KeyedSummary Summary;
  AccessCoverage Coverage; ///< empty unless it was asked for
  std::unique_ptr<AllocationWrappers> Wrappers;
};

/// Analyses \p M. Needs the site attributes of AllocationSitesPass.
UnitVerdicts decideUnit(llvm::Module &M, llvm::FunctionAnalysisManager &FAM, const Options &O);

/// Every byte of the object is written by a loop, or one of \p Fills, of the allocating function after the allocation. \p References and
/// \p Fills: all of that function.
bool fullyInitialised(const SiteVerdict &Site, llvm::ArrayRef<LoopReference> References,
                      llvm::ArrayRef<Fill> Fills, llvm::FunctionAnalysisManager &FAM);

} // namespace smalloc
#endif
