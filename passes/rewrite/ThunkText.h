//===- ThunkText.h - added functions as assembly -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emits the functions that smalloc adds to a unit as assembly if the compiler emits x86-64 objects
// directly. Assembly saves the compiler a quarter of what it spends on a function of its own: some
// hundred passes that find nothing to do. In all other cases Thunks, ModuleRecord and
// PromotionGuards build the same functions as IR. These cases are bitcode, any kind of LTO, other
// processors, and flags that change how calls are made. The IR is the reference: the assembly must
// do the same.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_THUNKTEXT_H
#define SMALLOC_PASSES_THUNKTEXT_H

#include "passes/loops/SizeConditions.h"
#include "passes/rewrite/ThunkParts.h"

namespace smalloc {

/// Marks \p M, so that later functions are added to it as assembly.
void addAsText(llvm::Module &M);
bool isAddedAsText(const llvm::Module &M);

/// True if the thunk of \p Original may be assembly. A function that the unit defines may have
/// another name in the assembly.
bool mayCallFromText(const llvm::Function &Original);

/// Returns the declaration of the thunk \p Name of \p Original, and emits its text. The cell is the
/// last argument, after those of \p Original.
llvm::Function *sizedThunkText(llvm::Module &M, llvm::StringRef Name, AllocFamily Family,
                               const llvm::Function &Original, llvm::FunctionType *Type);

/// Returns a variant of \p Thunk, the thunk of \p Original, that takes sizes before the cell, 64
/// bits each. If \p Tests do not hold for the sizes, it bypasses the site: the program's malloc
/// serves the call. A decision of the user or of a profile overrides the tests. As IR of the
/// function that allocates, the tests would cost time in a hundred passes. There is one thunk per
/// set of bounds, so there are far fewer thunks than sites.
llvm::Function *testingThunkText(llvm::Module &M, const llvm::Function &Original,
                                 llvm::Function &Thunk, const SizeTests &Tests);
/// True if registers suffice for all sizes and the sizes are integers.
bool mayTestInText(const llvm::Function &Thunk, const SizeTests &Tests);
/// Sends \p Call to the thunk without tests if it calls one of testingThunkText().
void dropTests(llvm::CallBase &Call);

/// Emits the 64-bit thread-local variable \p Name with the initial value SMALLOC_TOUCH_BATCH.
void leftText(llvm::Module &M, llvm::StringRef Name);

/// Symbols that a promotion point uses: the weak \p Pending and \p Entry, and the thread-local
/// \p Left. An empty \p Left: the point does not count misses.
struct WaitingSymbols {
  llvm::StringRef Pending, Entry, Left;
};
/// Emits void Name(ptr, i64), which calls Entry if Pending is present and not zero. It preserves
/// all general registers but %r11.
llvm::Function *waitingText(llvm::Module &M, llvm::StringRef Name, const WaitingSymbols &Symbols);

/// Emits the function \p Name of \p Type, whose third parameter is a number of bytes. It calls the
/// weak \p Entry with its arguments if that number is at least \p Least. It preserves general
/// registers as waitingText() does.
llvm::Function *fillingText(llvm::Module &M, llvm::StringRef Name, llvm::StringRef Entry,
                            uint64_t Least, llvm::FunctionType *Type);

} // namespace smalloc
#endif
