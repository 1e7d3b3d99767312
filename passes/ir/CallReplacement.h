//===- CallReplacement.h - replaces a call by another -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Replaces a call by a call of another function. Only the callee, the arguments and the attributes
// change; the new call takes everything else from the old one.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_CALLREPLACEMENT_H
#define SMALLOC_PASSES_CALLREPLACEMENT_H

#include "llvm/IR/InstrTypes.h"

namespace smalloc {

/// Replaces \p Call, a call or an invoke, by a call of \p Callee with \p Arguments and
/// \p Attributes. The new call takes over operand bundles, kind of tail call, calling convention,
/// metadata, location, name and users. Erases \p Call and returns the new call.
/// REQUIRES: \p Callee has the return type of \p Call.
llvm::CallBase *callInstead(llvm::CallBase &Call, llvm::FunctionCallee Callee,
                            llvm::ArrayRef<llvm::Value *> Arguments,
                            llvm::AttributeList Attributes);

} // namespace smalloc
#endif
