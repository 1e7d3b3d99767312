//===- UnitName.cpp - the name of a translation unit in object files --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/ir/UnitName.h"
#include "llvm/IR/Metadata.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace smalloc {

constexpr StringRef NameMetadata = "smalloc.unit";

StringRef unitName(const Module &M) {
  const StringRef Own = M.getSourceFileName();
  if (const NamedMDNode *Names = M.getNamedMetadata(NameMetadata))
    for (const MDNode *Name : Names->operands()) // ThinLTO may import another unit's name
      if (auto *Text = dyn_cast<MDString>(Name->getOperand(0).get());
          Text && sys::path::filename(Text->getString()) == sys::path::filename(Own))
        return Text->getString();
  return Own;
}

PreservedAnalyses UnitNamePass::run(Module &M, ModuleAnalysisManager &) {
  LLVMContext &C = M.getContext();
  if (!M.getNamedMetadata(NameMetadata))
    M.getOrInsertNamedMetadata(NameMetadata)->addOperand(MDNode::get(C, MDString::get(C, Name)));
  return PreservedAnalyses::all();
}

} // namespace smalloc
