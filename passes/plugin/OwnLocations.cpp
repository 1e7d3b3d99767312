//===- OwnLocations.cpp - drops locations made for the plugin alone -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/plugin/OwnLocations.h"
#include "passes/sites/AllocationSites.h"
#include "llvm/IR/DebugLoc.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace smalloc {

/// True for a call whose location inlining does not need. The called function has no debug
/// information (FrontendLocations). It calls no function that another unit defines or that has
/// debug information.
static bool callsPlainFunction(const CallBase &Call) {
  const Function *Callee = Call.getCalledFunction();
  return Callee && !Callee->isDeclaration() && !Callee->getSubprogram() &&
         none_of(instructions(*Callee), [](const Instruction &I) {
           auto *Inner = dyn_cast<CallBase>(&I);
           const Function *Called = Inner ? Inner->getCalledFunction() : nullptr;
           return Inner && (!Called || (!Called->isIntrinsic() &&
                                        (Called->isDeclaration() || Called->getSubprogram())));
         });
}

/// True for a call of another unit's function that returns no fresh memory: nothing will ever
/// replace it.
static bool callsElsewhere(const CallBase &Call) {
  const Function *Callee = Call.getCalledFunction();
  return Callee && Callee->isDeclaration() && !Callee->isIntrinsic() &&
         !Call.getType()->isAggregateType() && givesNoMemory(Call);
}

/// True for an intrinsic that stays one or becomes plain instructions. Intrinsics of coroutines
/// become calls of the coroutine's parts, which need their location.
static bool isPlainIntrinsic(const CallBase &Call) {
  const auto *I = dyn_cast<IntrinsicInst>(&Call);
  return I && !I->getCalledFunction()->getName().starts_with("llvm.coro.");
}

/// Removes the module flag of CodeView debug information, which the user did not request
/// (FrontendLocations).
static void dropCodeViewFlag(Module &M) {
  NamedMDNode *Flags = M.getModuleFlagsMetadata();
  if (!Flags || !M.getModuleFlag("CodeView"))
    return;
  SmallVector<MDNode *, 8> Others;
  for (MDNode *Flag : Flags->operands())
    if (auto *Name = dyn_cast_or_null<MDString>(Flag->getOperand(1).get());
        !Name || Name->getString() != "CodeView")
      Others.push_back(Flag);
  Flags->clearOperands();
  for (MDNode *Flag : Others)
    Flags->addOperand(Flag);
}

PreservedAnalyses OwnLocationsPass::run(Module &M, ModuleAnalysisManager &) {
  if (!isServed(M))
    return PreservedAnalyses::all();
  dropCodeViewFlag(M);
  for (Function &F : M)
    for (Instruction &I : instructions(F)) {
      auto *Call = dyn_cast<CallBase>(&I);
      if (I.getDebugLoc() && (!Call || isPlainIntrinsic(*Call) ||
                              (Alone && callsElsewhere(*Call)) || callsPlainFunction(*Call)))
        I.setDebugLoc(DebugLoc());
    }
  return PreservedAnalyses::all();
}

} // namespace smalloc
