//===- CallReplacement.cpp - replaces a call by another ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/ir/CallReplacement.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace smalloc {

CallBase *callInstead(CallBase &Call, FunctionCallee Callee, ArrayRef<Value *> Arguments,
                      AttributeList Attributes) {
  SmallVector<OperandBundleDef, 1> Bundles;
  Call.getOperandBundlesAsDefs(Bundles);
  CallBase *New;
  if (auto *Invoke = dyn_cast<InvokeInst>(&Call)) {
    New = InvokeInst::Create(Callee, Invoke->getNormalDest(), Invoke->getUnwindDest(), Arguments,
                             Bundles, "", Call.getIterator());
  } else {
    auto *Plain = CallInst::Create(Callee, Arguments, Bundles, "", Call.getIterator());
    Plain->setTailCallKind(cast<CallInst>(Call).getTailCallKind());
    New = Plain;
  }
  New->setAttributes(Attributes);
  New->setCallingConv(Call.getCallingConv());
  New->copyMetadata(Call);
  New->setDebugLoc(Call.getDebugLoc());
  New->takeName(&Call);
  Call.replaceAllUsesWith(New);
  Call.eraseFromParent();
  return New;
}

} // namespace smalloc
