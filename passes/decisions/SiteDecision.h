//===- SiteDecision.h - what is decided of one site ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Holds what the analysis knows and decides of one allocation site: where it is, its size, how loops walk its
// objects, the page size, and the reason.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_SITEDECISION_H
#define SMALLOC_PASSES_SITEDECISION_H

#include "passes/loops/SizeConditions.h"
#include "passes/sites/AllocationSites.h"
#include "passes/sites/AllocationWrappers.h"
#include "passes/spread/PageShifts.h"
#include "smalloc/site.h"
#include <string>
#include <vector>

namespace smalloc {

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
struct SiteDecision {
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

} // namespace smalloc
#endif
