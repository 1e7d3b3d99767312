//===- OwnLocations.h - drops locations made for the plugin alone ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Drops the source locations that the front end made only for the plugin (FrontendLocations) and
// that it does not need. LLVM then need not maintain them.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_OWNLOCATIONS_H
#define SMALLOC_PASSES_OWNLOCATIONS_H

#include "llvm/IR/PassManager.h"

namespace smalloc {

/// Drops the locations of instructions. Keeps those of calls that may be or may contain sites;
/// those of loops are in their metadata.
class OwnLocationsPass : public llvm::PassInfoMixin<OwnLocationsPass> {
public:
  /// \p Alone: no link adds bodies of functions that other units define.
  explicit OwnLocationsPass(bool Alone) : Alone(Alone) {}
  llvm::PreservedAnalyses run(llvm::Module &M, llvm::ModuleAnalysisManager &AM);

private:
  bool Alone;
};

} // namespace smalloc
#endif
