//===- Options.h - the plugin's options -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parses the plugin's options: -fplugin-arg-smalloc-KEY[=VALUE] in clang, -mllvm -smalloc-KEY=VALUE
// in opt, flang and lld. Both forms go through setOption(), so both report the same errors.
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
  Candidates, ///< all sites except those that always use base pages
  All,        ///< all sites, so that the runtime can change the page size of each
};

struct Options {
  smalloc_heap_strategy Heap = SMALLOC_HEAP_AUTO;
  smalloc_model Model = SMALLOC_MODEL_SPREAD;
  /// Sites that get a thunk. Becomes All in a profile-generate build unless RewriteNamed is set.
  RewriteScope Rewrite = RewriteScope::Candidates;
  bool RewriteNamed = false; ///< the user has set Rewrite
  MachineProfile Machine;    ///< its ReachPages 0: not loaded yet
  bool NumaHints = false;    ///< mark sites whose object is divided between threads
  std::string Root;          ///< base of source paths in site ids; empty: the compile directory
  std::string UnitName;      ///< source path after the -f*-prefix-map options; empty: not mapped
  std::string SitesDir;      ///< directory for each unit's site table as JSON; empty: none
  std::string CoverageDir;   ///< directory for each module's attributed accesses; empty: none
  std::string GenerateDir;   ///< directory for the programs' traces; empty: do not instrument
  std::shared_ptr<const Directives> Use; ///< directives of profile-use; null: none
  bool FirstTouch = true;                ///< count the page faults of fully written objects
  bool Layout = false;                   ///< pad colliding rows of arrays that only the unit uses
  std::vector<std::string> Warnings;     ///< about accepted options; each is printed once
  bool OwnLocations = false;             ///< only the plugin asked for source locations in the IR
  bool StraightToObject = false;         ///< clang emits x86-64 objects with ordinary calls, no LTO
  /// The unit is for a system with a C library, so malloc is the allocator even with -fno-builtin.
  bool Hosted = false;
  unsigned Units = 1; ///< units merged into the module: above 1 in a link with LTO
};

/// Applies one option to \p O. An error names the key, the value, and the valid values.
llvm::Error setOption(Options &O, llvm::StringRef Key, llvm::StringRef Value);

/// Returns the options that a link with LTO needs to decide again, as "key=value" for setOption().
std::vector<std::string> decidingOptions(const Options &O);

/// Returns \p O with the -smalloc-* command-line options applied and the machine loaded.
llvm::Expected<Options> withCommandLine(Options O);

} // namespace smalloc
#endif
