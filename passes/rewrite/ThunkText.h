//===- ThunkText.h - what is added, as assembly -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how what smalloc adds to a unit looks where the unit goes straight to object code of x86-64: as assembly, which
// costs the compiler a quarter of what it spends on a function of its own, some hundred passes that find nothing to do.
// Everywhere else (bitcode, any kind of LTO, other processors, flags that change how calls are made) the same functions are
// built as IR, in Thunks, SiteRewriter and PromotionGuards: what they do is decided there, and this follows them.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_THUNKTEXT_H
#define SMALLOC_PASSES_THUNKTEXT_H

#include "passes/loops/SizeConditions.h"
#include "passes/rewrite/ThunkParts.h"
#include "smalloc/site.h"

namespace smalloc {

/// From now on functions of \p M are added as assembly.
void addAsText(llvm::Module &M);
bool isAddedAsText(const llvm::Module &M);

/// May the thunk of \p Original be text? What is defined in the unit may have another name there.
bool mayCallFromText(const llvm::Function &Original);

/// The thunk \p Name of \p Original with the cell behind its arguments: a declaration, and its text.
llvm::Function *sizedThunkText(llvm::Module &M, llvm::StringRef Name, AllocFamily Family,
                               const FamilyShape &Shape, const llvm::Function &Original,
                               llvm::FunctionType *Type);

/// The thunk \p Thunk of \p Original with sizes, 64 bits each, before the cell: where \p Tests do not hold of them and nobody but
/// the compiler has decided, the object is left to the program's malloc. As instructions of the function that allocates, the tests
/// would cost a hundred passes time: there are as many thunks as different bounds, far fewer than sites.
llvm::Function *testingThunkText(llvm::Module &M, const llvm::Function &Original,
                                 llvm::Function &Thunk, const SizeTests &Tests);
/// Are there registers for all sizes?
bool mayTestInText(const llvm::Function &Thunk, const SizeTests &Tests);
/// Sends \p Call, if of such a thunk, to the one that does not test.
void dropTests(llvm::CallBase &Call);

/// The record of the image with its constructor and destructor, which needs what \p Tables refer to.
void moduleRecordText(llvm::Module &M, smalloc_heap_strategy Heap,
                      llvm::ArrayRef<llvm::GlobalVariable *> Tables);

/// A thread's variable of 64 bits, at first SMALLOC_TOUCH_BATCH.
void leftText(llvm::Module &M, llvm::StringRef Name);

/// What a promotion point looks at: weak \p Pending and \p Entry, and \p Left, a thread's; empty: it does not count.
struct WaitingSymbols {
  llvm::StringRef Pending, Entry, Left;
};
/// void Name(ptr, i64) that asks the entry while what is pending is there and not zero. It keeps all registers but one.
llvm::Function *waitingText(llvm::Module &M, llvm::StringRef Name, const WaitingSymbols &Symbols);

/// \p Name of \p Type, (ptr, i64, i64), that calls weak \p Entry if its last argument is at least \p Least. It keeps general
/// registers as waitingText does.
llvm::Function *fillingText(llvm::Module &M, llvm::StringRef Name, llvm::StringRef Entry,
                            uint64_t Least, llvm::FunctionType *Type);

} // namespace smalloc
#endif
