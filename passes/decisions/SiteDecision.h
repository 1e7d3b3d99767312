//===- SiteDecision.h - the decision for one site -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Holds the facts and the decision for one allocation site: its location, its size, how loops walk
// its objects, the page size, and the reason.
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

/// The access pattern of one reference to a site's objects.
struct ReferenceRow {
  std::string Function;
  unsigned Line = 0, Column = 0;
  smalloc_pattern Pattern = SMALLOC_PATTERN_NONE;
  double Pages = -1, Accesses = -1; ///< negative: known at run time only
  double Misses = 0, Exposed = 0, Saving = 0;
  uint64_t MinBytes = SMALLOC_UNKNOWN; ///< superpages pay from this object size
};

/// The facts and the decision for one allocation call.
struct SiteDecision {
  llvm::CallBase *Call = nullptr; ///< null: a global variable (StaticArrays)
  const llvm::GlobalVariable *Variable = nullptr;
  const llvm::Instruction *Access = nullptr; ///< of a variable: the access that settled it
  AllocFamily Family = AllocFamily::Malloc;
  std::string Callee;                         ///< linkage name
  const AllocationWrapper *Wrapper = nullptr; ///< of a context whose callee is in the unit
  /// The callee of this context only has the form of an allocator; the linker will know whether it
  /// is one.
  bool Guessed = false;
  uint64_t Id = 0;
  std::string Name; ///< symbol of the record, the same for copies of an ODR function in other units
  uint64_t Node = 0; ///< node in the graph of section smalloc_keys
  std::string Function, File, Context;
  std::string Array; ///< the variable that holds the memory, as the source names it
  unsigned Line = 0, Column = 0;
  uint64_t SizeBytes = SMALLOC_UNKNOWN;
  uint64_t ElementBytes = 0;
  std::string SizeText; ///< for messages: "8000000 bytes", "n*48 bytes", "n bytes"

  smalloc_pattern Pattern = SMALLOC_PATTERN_UNKNOWN;
  smalloc_decision Decision = SMALLOC_DECISION_BASE;
  smalloc_decided_by DecidedBy = SMALLOC_BY_COMPILER;
  /// Base-2 logarithm of the page size, unless the site stays on base pages.
  unsigned PageShift = SuperpageShift;
  unsigned Flags = 0; ///< SMALLOC_SITE_*
  uint64_t SpreadPages = SMALLOC_UNKNOWN;
  std::string SpreadText;
  double MissesPerAccess = -1;
  double SavingCycles = -1;               ///< per access; translation only
  uint64_t FaultsSaved = SMALLOC_UNKNOWN; ///< at the first touch of one object
  uint32_t Worth = 0;                     ///< same unit as smalloc_site::worth
  uint64_t MinBytes = SMALLOC_UNKNOWN;    ///< superpages from this object size on; 0: always
  /// Conditions on sizes. While the compiler's decision holds, superpages need one of them to hold.
  SizeConditions When;
  unsigned Confidence = 0;
  std::string Why;
  std::vector<ReferenceRow> References; ///< for the site table only

  bool steerable() const { return Flags & SMALLOC_SITE_REWRITTEN; }
};

} // namespace smalloc
#endif
