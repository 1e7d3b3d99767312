//===- LinkOptions.cpp - options that travel in bitcode -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/rewrite/LinkOptions.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Metadata.h"

using namespace llvm;

namespace smalloc {

static constexpr StringRef OptionsMetadata = "smalloc.options";

void recordOptions(Module &M, const Options &O) {
  LLVMContext &C = M.getContext();
  SmallVector<Metadata *, 4> Pairs;
  for (const std::string &Pair : decidingOptions(O))
    Pairs.push_back(MDString::get(C, Pair));
  M.getOrInsertNamedMetadata(OptionsMetadata)->addOperand(MDNode::get(C, Pairs));
}

bool isForLink(const Module &M) { return M.getNamedMetadata(OptionsMetadata); }

std::optional<Options> recordedOptions(const Module &M) {
  const NamedMDNode *Units = M.getNamedMetadata(OptionsMetadata);
  if (!Units || Units->getNumOperands() == 0)
    return std::nullopt;
  for (const MDNode *Unit : Units->operands())
    if (Unit != Units->getOperand(0)) // nodes of the same strings are one
      return std::nullopt;
  Options O;
  for (const MDOperand &Pair : Units->getOperand(0)->operands()) {
    auto *Text = dyn_cast_or_null<MDString>(Pair.get());
    if (!Text)
      return std::nullopt;
    auto [Key, Value] = Text->getString().split('=');
    if (Error E = setOption(O, Key, Value)) {
      consumeError(std::move(E));
      return std::nullopt;
    }
  }
  Expected<Options> Complete = withCommandLine(O);
  if (!Complete) {
    consumeError(Complete.takeError());
    return std::nullopt;
  }
  return *Complete;
}

} // namespace smalloc
