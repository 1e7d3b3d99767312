//===- LinkOptions.h - options that travel in bitcode ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes the options of a unit into its bitcode. A link with LTO reads them and decides again.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_LINKOPTIONS_H
#define SMALLOC_PASSES_LINKOPTIONS_H

#include "passes/options/Options.h"
#include "llvm/IR/Module.h"
#include <optional>

namespace smalloc {

/// Writes the options that affect the decisions into \p M, for the link phase.
void recordOptions(llvm::Module &M, const Options &O);

/// True if \p M is bitcode for which a link with LTO may decide again.
bool isForLink(const llvm::Module &M);

/// Returns the options of the compile phase, completed by those of the command line. Returns
/// nothing if there are none, if units differ, or if this plugin does not know an option. The
/// options contain the whole text of a machine's file: the file may be gone, and its path must not
/// get into a program.
std::optional<Options> recordedOptions(const llvm::Module &M);

} // namespace smalloc
#endif
