//===- PointParts.h - shared parts of promotion and fill points -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chooses the calling convention of the functions that promotion points and fill points call: one
// that preserves general registers. Moves instructions that only a call needs into its cold block.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_POINTPARTS_H
#define SMALLOC_PASSES_POINTPARTS_H

#include "llvm/IR/Module.h"
#include "llvm/IR/PassManager.h"

namespace smalloc {

/// Attribute of a point's call: the loop that follows contains loops.
constexpr llvm::StringRef BeforeNestAttr = "smalloc-before-nest";

/// Returns the calling convention that preserves general registers, or C's if the target of \p M
/// has none.
llvm::CallingConv::ID keepsRegisters(const llvm::Module &M);

/// Discards the scalar evolution of \p F, to save memory.
void forgetEvolution(llvm::Function &F, llvm::FunctionAnalysisManager &FAM);

/// Moves what only \p Cold uses out of \p From, the block that ends with the test.
void sinkInto(llvm::BasicBlock &Cold, llvm::BasicBlock &From);

/// Makes \p Thunk a declaration until PromotionGuardsPass runs: few units need its body in the end.
void leaveToGuards(llvm::Function &Thunk);

} // namespace smalloc
#endif
