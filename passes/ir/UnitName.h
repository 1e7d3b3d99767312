//===- UnitName.h - the name of a translation unit in object files ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gives a translation unit the name that the plugin writes into object files: the source path after
// the -f*-prefix-map options. The module's own name is the path as the compiler was given it. With
// that name, builds in two folders would differ, and the binary would show the build path.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_UNITNAME_H
#define SMALLOC_PASSES_UNITNAME_H

#include "llvm/ADT/StringRef.h"
#include "llvm/IR/PassManager.h"
#include <string>

namespace smalloc {

/// Returns the name of \p M's unit. For a module merged by a link, returns the link's own name.
llvm::StringRef unitName(const llvm::Module &M);

/// Records in the module the name that the front end computed.
class UnitNamePass : public llvm::PassInfoMixin<UnitNamePass> {
public:
  explicit UnitNamePass(std::string Name) : Name(std::move(Name)) {}
  llvm::PreservedAnalyses run(llvm::Module &M, llvm::ModuleAnalysisManager &AM);

private:
  std::string Name;
};

} // namespace smalloc
#endif
