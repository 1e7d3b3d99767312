//===- PointParts.h - shared parts of promotion and fill points -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes the hidden functions that promotion points and fill points call, with a calling convention
// that preserves general registers. Moves instructions that only a call needs into its cold block.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_POINTPARTS_H
#define SMALLOC_PASSES_POINTPARTS_H

#include "llvm/IR/Module.h"

namespace smalloc {

/// Attribute of a point's call: the loop that follows contains loops.
constexpr llvm::StringRef BeforeNestAttr = "smalloc-before-nest";

/// Creates the hidden function \p Name, linkonce_odr, without a body. It replaces a declaration of
/// that name.
llvm::Function *hiddenPoint(llvm::Module &M, llvm::StringRef Name, llvm::FunctionType *Type);

/// Returns the calling convention that preserves general registers, or C's if the target of \p M
/// has none.
llvm::CallingConv::ID keepsRegisters(const llvm::Module &M);

/// Moves what only \p Cold uses out of \p From, the block that ends with the test.
void sinkInto(llvm::BasicBlock &Cold, llvm::BasicBlock &From);

/// Makes \p Thunk a declaration until PromotionGuardsPass runs: few units need its body in the end.
void leaveToGuards(llvm::Function &Thunk);

} // namespace smalloc
#endif
