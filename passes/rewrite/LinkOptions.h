//===- LinkOptions.h - options that travel in bitcode --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes the options of a unit into its bitcode, and reads them when a link with LTO decides anew.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_LINKOPTIONS_H
#define SMALLOC_PASSES_LINKOPTIONS_H

#include "passes/options/Options.h"
#include "llvm/IR/Module.h"
#include <optional>

namespace smalloc {

/// Writes the options that decide sites into the module, for the link phase.
void recordOptions(llvm::Module &M, const Options &O);

/// Is \p M bitcode of which a link with LTO may decide anew?
bool isForLink(const llvm::Module &M);

/// The options of the compile phase under those of the command line; nothing if there are none, if units differ, or if
/// this plugin does not know them. A machine's file is in them with all that it says: it may be gone, and where it was is nothing
/// that belongs into a program.
std::optional<Options> recordedOptions(const llvm::Module &M);

} // namespace smalloc
#endif
