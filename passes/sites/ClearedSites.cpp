//===- ClearedSites.cpp - calloc made from malloc and memset ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/sites/ClearedSites.h"
#include "passes/sites/AllocationSites.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace smalloc {
namespace {

constexpr StringRef ClearableMetadata = "smalloc.clearable";

/// Smallest constant memset that counts. Cleared structures do not matter, and most functions clear
/// some.
constexpr uint64_t LeastBytes = 65536;

/// Returns the function, file, line and column of \p Call in the source; empty: not known.
std::string placeOf(const CallBase &Call) {
  const DILocation *At = Call.getDebugLoc();
  if (!At || At->getLine() == 0)
    return "";
  const DISubprogram *In = At->getScope()->getSubprogram();
  const StringRef Name = In->getLinkageName().empty() ? In->getName() : In->getLinkageName();
  return (Name + " " + At->getFilename() + " " + Twine(At->getLine()) + " " +
          Twine(At->getColumn()))
      .str();
}

bool clears(const Instruction &I) {
  auto *Fill = dyn_cast<MemSetInst>(&I);
  auto *Value = Fill ? dyn_cast<ConstantInt>(Fill->getValue()) : nullptr;
  auto *Length = Fill ? dyn_cast<ConstantInt>(Fill->getLength()) : nullptr;
  return Value && Value->isZero() && (!Length || Length->getLimitedValue() >= LeastBytes);
}

StringRef textOf(const MDNode &N, unsigned K) {
  return cast<MDString>(N.getOperand(K))->getString();
}

} // namespace

void keepClearableSites(Module &M) {
  if (none_of(M, [](const Function &F) { return any_of(instructions(F), clears); }))
    return;
  LLVMContext &C = M.getContext();
  StringMap<MDNode *> Places;
  for (Function &F : M)
    for (Instruction &I : instructions(F)) {
      auto *Call = dyn_cast<CallInst>(&I);
      if (!Call || !Call->hasFnAttr(SiteIdAttr) || !Call->getCalledFunction() ||
          Call->getCalledFunction()->getName() != "malloc")
        continue;
      const std::string Place = placeOf(*Call);
      if (Place.empty())
        continue;
      auto Text = [&](StringRef S) { return MDString::get(C, S); };
      auto [It, New] = Places.try_emplace(Place);
      // A macro can put two calls at one source location, which then identifies neither of them.
      It->second =
          New ? MDNode::get(C, {Text(Place), Text(Call->getFnAttr(SiteIdAttr).getValueAsString()),
                                Text(Call->getFnAttr(SiteFunctionAttr).getValueAsString())})
              : nullptr;
    }
  for (auto &Entry : Places)
    if (Entry.second)
      M.getOrInsertNamedMetadata(ClearableMetadata)->addOperand(Entry.second);
}

ClearableSites::ClearableSites(Module &M) {
  NamedMDNode *Kept = M.getNamedMetadata(ClearableMetadata);
  if (!Kept)
    return;
  for (const MDNode *N : Kept->operands())
    if (N->getNumOperands() == 3 &&
        all_of(N->operands(), [](const MDOperand &Op) { return isa_and_present<MDString>(Op); }))
      Known[textOf(*N, 0)] = {textOf(*N, 1), textOf(*N, 2)};
  Kept->eraseFromParent();
}

bool ClearableSites::takeOver(CallBase &Call) {
  // The program's own calls have an id by now. The optimiser's calloc asks for one object.
  auto *Count = dyn_cast<ConstantInt>(Call.getArgOperand(0));
  if (!Count || !Count->isOne())
    return false;
  auto It = Known.find(placeOf(Call));
  if (It == Known.end())
    return false;
  auto [Id, Function] = It->second;
  LLVMContext &C = Call.getContext();
  Call.addFnAttr(Attribute::get(C, ClearedAttr));
  Call.addFnAttr(Attribute::get(C, SiteIdAttr, Id));
  Call.addFnAttr(Attribute::get(C, SiteFunctionAttr, Function));
  return true;
}

} // namespace smalloc
