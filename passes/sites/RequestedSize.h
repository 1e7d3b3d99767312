//===- RequestedSize.h - the size in an allocation call's argument ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the size that a program means: without the overflow check that new T[n] adds, without the
// other size of an empty object (n ? n : 1), and without rounding up to an alignment.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_REQUESTEDSIZE_H
#define SMALLOC_PASSES_REQUESTEDSIZE_H

namespace llvm {
class SCEV;
class ScalarEvolution;
class Value;
} // namespace llvm

namespace smalloc {

/// Returns \p Size without the overflow check that new T[n] puts around n * sizeof(T).
llvm::Value *withoutOverflowCheck(llvm::Value *Size);

/// Returns \p Size, an argument of an allocation, as an expression without the overflow check,
/// without another size for an empty object, and without rounding up.
const llvm::SCEV *meantSize(llvm::Value *Size, llvm::ScalarEvolution &SE);

} // namespace smalloc
#endif
