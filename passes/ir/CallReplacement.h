//===- CallReplacement.h - one call in another's place ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a call of another function keeps of the call that it stands for: all but the callee, the arguments and, as
// its maker says, the attributes.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_CALLREPLACEMENT_H
#define SMALLOC_PASSES_CALLREPLACEMENT_H

#include "llvm/IR/InstrTypes.h"

namespace smalloc {

/// Calls \p Callee with \p Arguments and \p Attributes where \p Call, a call or an invoke, was: with its operand bundles, kind of
/// tail call, calling convention, metadata, location, name and users. \p Call is gone then.
/// REQUIRES: the function returns what that of \p Call does.
llvm::CallBase *callInstead(llvm::CallBase &Call, llvm::FunctionCallee Callee,
                            llvm::ArrayRef<llvm::Value *> Arguments,
                            llvm::AttributeList Attributes);

} // namespace smalloc
#endif
