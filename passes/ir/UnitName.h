//===- UnitName.h - what a unit is called where its name is kept ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which name of a translation unit the plugin writes into object files: the path of the source file after the
// -f*-prefix-map options. The module's own name is the path as the compiler was given it. With that name, builds in two
// folders would differ, and the binary would show the build path.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_UNITNAME_H
#define SMALLOC_PASSES_UNITNAME_H

#include "llvm/ADT/StringRef.h"
#include "llvm/IR/PassManager.h"
#include <string>

namespace smalloc {

/// The name of \p M's unit. Of the modules that a link merges, that of the link's.
llvm::StringRef unitName(const llvm::Module &M);

/// Gives the module the name that the front end knows.
class UnitNamePass : public llvm::PassInfoMixin<UnitNamePass> {
public:
  explicit UnitNamePass(std::string Name) : Name(std::move(Name)) {}
  llvm::PreservedAnalyses run(llvm::Module &M, llvm::ModuleAnalysisManager &AM);

private:
  std::string Name;
};

} // namespace smalloc
#endif
