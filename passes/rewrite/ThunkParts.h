//===- ThunkParts.h - parts of thunks -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Describes the arguments and the runtime entry of each allocation family. Also makes the functions
// and symbols that the plugin adds to a unit: weak entries, and hidden functions of which an image
// keeps one copy.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_THUNKPARTS_H
#define SMALLOC_PASSES_THUNKPARTS_H

#include "passes/sites/AllocationSites.h"
#include "smalloc/site.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace smalloc {

inline constexpr llvm::StringRef ThunkPrefix = "__smalloc_v1_thunk_";

/// Masks of a cell's word: the run-time decision and its decider; and their values while the
/// compiler's decision holds.
inline constexpr uint64_t WordOfDeciders = SMALLOC_WORD(0xff, 0, 0, 0x7f, 0),
                          WordOfCompiler =
                              SMALLOC_WORD(SMALLOC_DECISION_RUNTIME, 0, 0, SMALLOC_BY_COMPILER, 0);

/// The positions of a family's arguments, and the runtime entry that serves the family.
struct FamilyShape {
  llvm::StringRef Entry;
  int SizeArgument;         ///< argument of the call
  int AlignmentArgument;    ///< argument of the call; -1: none
  bool MayBeDirect = false; ///< a small request is only a number of bytes
  bool AsCalled = true;     ///< the entry takes the call's arguments, or new's first ones
};
FamilyShape shapeOf(AllocFamily F);

/// An entry that a thunk jumps to if the runtime has marked the site for it. The entry gets what to
/// call if it declines, so the thunk needs no frame and tests no result.
struct MarkedEntry {
  unsigned Flag;
  llvm::StringRef Entry;
};
inline constexpr MarkedEntry MarkedEntries[] = {{SMALLOC_CELL_DIRECT, "__smalloc_v1_small"},
                                                {SMALLOC_CELL_JOINS, "__smalloc_v1_joining"}};

/// Copies further attributes (tune-cpu, frame-pointer, ...) to the functions that smalloc has
/// added, each from a function of the unit with the same target-cpu and target-features. With other
/// attributes the back end would set up another subtarget, which costs more than the functions do.
void compileAsUnit(llvm::Module &M);

/// Returns a weak entry of the runtime. It is not dso_local: its address is loaded from the GOT,
/// also without -fPIC, so that the linker cannot resolve it as absent.
llvm::Function *weakEntry(llvm::Module &M, llvm::StringRef Name, llvm::FunctionType *Type);

/// Creates the hidden function \p Name without a body, of which an image keeps one copy. Replaces a
/// declaration of that name: ThinLTO drops the body of an unused function.
llvm::Function *hiddenFunction(llvm::Module &M, const llvm::Twine &Name, llvm::FunctionType *Type,
                               bool MayThrow = false);

/// Emits the function \p Name, which calls the weak \p EntryName with \p Record if there is one. \p
/// Fill, if given, emits code before the call.
llvm::Function *
announcer(llvm::GlobalVariable *Record, llvm::StringRef Name, llvm::StringRef EntryName,
          llvm::function_ref<void(llvm::IRBuilder<> &, llvm::BasicBlock *End)> Fill = nullptr);

/// Makes \p G hidden, with one copy per linked image.
void makeHiddenComdat(llvm::Module &M, llvm::GlobalObject *G);

} // namespace smalloc
#endif
