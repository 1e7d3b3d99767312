//===- AllocationWrappers.h - functions that return fresh memory ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which functions are seen through: those whose every result is null or fresh from an allocation (xmalloc,
// pool constructors), of any depth, and those of the unit that put nothing else where one of their arguments points to. A call of one is a site of its own, a context: programs allocate hot tables and
// cold buffers through the same malloc call.
//
// The context's cell goes down as a hidden last argument of a second entry of the function, not in a thread-local
// variable: an argument is right under exceptions, longjmp, recursion, signals and coroutines, needs no restoring, and
// cannot be left behind for an allocation that has nothing to do with it. What it cannot do is cross to another linked
// image or go through a function pointer: such calls decide as the allocation inside does.
//
// Across units the caller does not know whether the function allocates. A call that looks like it (declared with the
// attributes malloc or alloc_size, a pointer made of a 64-bit number, or such a number beside the address of one pointer)
// goes through a thunk that looks for the other entry's record, a weak hidden symbol: the linker settles it.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_ALLOCATIONWRAPPERS_H
#define SMALLOC_PASSES_ALLOCATIONWRAPPERS_H

#include "passes/sites/AllocationSites.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace smalloc {

inline constexpr llvm::StringRef ContextIdAttr = "smalloc-context"; ///< 16 hex digits
/// Of a call by which another unit's function may hand out memory: through which argument.
inline constexpr llvm::StringRef OutAttr = "smalloc-out";

/// Has \p Call the form of an allocation by a function of another unit?
bool mayBeWrapperCall(const llvm::CallBase &Call, const llvm::TargetLibraryInfo &TLI);
/// The argument of \p Call by which another unit's function may hand out fresh memory: the one address of a pointer, beside a 64-bit
/// number; -1: none has that form. To be asked before the first optimisation, which forgets what is a pointer.
int mayHandOutThrough(const llvm::CallBase &Call, const llvm::TargetLibraryInfo &TLI);
/// Do the declaration's attributes say that the result is fresh memory?
bool isDeclaredFresh(const llvm::Function &F);

/// A function of the unit that returns fresh memory, or hands it out through an argument.
struct AllocationWrapper {
  llvm::Function *F = nullptr;
  llvm::SmallVector<llvm::CallBase *, 2> Fresh; ///< the calls whose result it returns
  int Out = -1; ///< the argument that points to where it puts the memory; -1: it returns it
  int SizeArgument = -1;                ///< what all of them allocate; -1: not one argument
  std::optional<uint64_t> ConstantSize; ///< of all of them
  /// One of the calls only has the form of an allocation: this function of another unit has to be a wrapper, too.
  const llvm::Function *Condition = nullptr;
  bool Exported = false; ///< other units of the image may call its other entry
};

class AllocationWrappers {
public:
  /// Needs the attributes of AllocationSitesPass. Marks the calls that are contexts as sites.
  AllocationWrappers(llvm::Module &M, llvm::FunctionAnalysisManager &FAM);

  /// Null: not a function of the unit that is seen through.
  const AllocationWrapper *find(const llvm::Function *F) const;
  const AllocationWrapper *calledBy(const llvm::CallBase &Call) const;
  llvm::ArrayRef<const AllocationWrapper *> all() const { return Order; }
  /// The argument of \p Call, a site, that points to where it puts its block; -1: it returns it.
  int outArgument(const llvm::CallBase &Call) const;

  /// A marked call that is no allocation itself.
  bool isContext(const llvm::CallBase &Call) const { return Contexts.contains(&Call); }
  /// The allocations inside the function that the context \p Call calls, at any depth.
  llvm::ArrayRef<const llvm::CallBase *> inside(const llvm::CallBase &Call) const;

private:
  bool analyse(llvm::Function &F);
  bool handsOut(llvm::Function &F, AllocationWrapper &W);
  bool storesOnlyFresh(llvm::Argument &A, AllocationWrapper &W);
  void dropSingleUses();
  bool isFresh(llvm::Value *V, AllocationWrapper &W, llvm::SmallPtrSetImpl<llvm::Value *> &Seen);

  llvm::FunctionAnalysisManager &FAM;
  llvm::DenseMap<const llvm::Function *, std::unique_ptr<AllocationWrapper>> Wrappers;
  llvm::DenseSet<const llvm::Function *> InProgress, Rejected;
  llvm::SmallVector<const AllocationWrapper *, 8> Order; ///< in the unit's order
  size_t LoopInstructionsLeft = 0; ///< that may still be compiled a second time
  llvm::DenseSet<const llvm::CallBase *> Contexts;
  llvm::DenseMap<const llvm::CallBase *, llvm::SmallVector<const llvm::CallBase *, 4>> Inside;
};

} // namespace smalloc
#endif
