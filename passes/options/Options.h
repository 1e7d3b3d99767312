//===- Options.h - what the user may ask of the plugin ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the plugin's keys and values: -fplugin-arg-smalloc-KEY[=VALUE] in clang, -mllvm -smalloc-KEY=VALUE in opt,
// flang and lld. Both go through setOption(), so that both report the same errors.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_OPTIONS_H
#define SMALLOC_PASSES_OPTIONS_H

#include "passes/options/Directives.h"
#include "passes/options/MachineProfile.h"
#include "smalloc/site.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>
#include <vector>

namespace smalloc {

enum class RewriteScope {
  Candidates, ///< all sites but those that are base pages for good
  All,        ///< every site becomes steerable at run time
};

struct Options {
  smalloc_heap_strategy Heap = SMALLOC_HEAP_AUTO;
  smalloc_model Model = SMALLOC_MODEL_SPREAD;
  RewriteScope Rewrite =
      RewriteScope::Candidates; ///< All in a profile-generate build unless RewriteNamed
  bool RewriteNamed = false;
  MachineProfile Machine; ///< loaded when ReachPages != 0
  bool NumaHints = false; ///< sites that threads divide say so
  std::string Root; ///< what source paths in site ids are relative to; empty: the compile directory
  std::string UnitName;    ///< the source file's as -f*-prefix-map make it; empty: as it is
  std::string SitesDir;    ///< each unit's site table as JSON goes here; empty: nowhere
  std::string CoverageDir; ///< each module's attributed accesses go here; empty: nowhere
  std::string GenerateDir; ///< instrument; programs leave their traces there; empty: do not
  std::shared_ptr<const Directives> Use; ///< of profile-use; null: none
  bool FirstTouch = true;                ///< page faults of fully written objects count
  bool Layout = false;                   ///< pad colliding rows of arrays that only the unit knows
  std::vector<std::string> Warnings; ///< of options that are taken all the same; to be said once
  bool OwnLocations = false;         ///< nobody else asked for locations in the IR
  bool StraightToObject = false;     ///< of x86-64, with calls as they are made by default
  bool Hosted =
      false; ///< the unit is for a system with a C library: malloc is malloc, builtin or not
  unsigned Units = 1; ///< that make up the module: more than one in a link with LTO
};

/// Applies one option. Errors name the key, the value, and what would be valid.
llvm::Error setOption(Options &O, llvm::StringRef Key, llvm::StringRef Value);

/// The options that verdicts depend on, as "key=value" for setOption().
std::vector<std::string> decidingOptions(const Options &O);

/// \p O with the -smalloc-* command-line options on top and the machine loaded.
llvm::Expected<Options> withCommandLine(Options O);

} // namespace smalloc
#endif
