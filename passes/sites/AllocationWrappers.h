//===- AllocationWrappers.h - functions that return fresh memory ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds wrappers, functions of the unit that hand out fresh memory. A wrapper returns only null or
// memory fresh from an allocation (xmalloc, pool constructors), at any depth. Or it stores only
// these pointers where one of its arguments points to. A call of a wrapper is a site of its own,
// called a context, because programs allocate hot tables and cold buffers through the same malloc
// call.
//
// The context's cell is passed as a hidden last argument of a second entry of the function, not in
// a thread-local variable. An argument is right under exceptions, longjmp, recursion, signals and
// coroutines. It needs no restoring and cannot remain for an unrelated allocation. It cannot cross
// to another linked image or go through a function pointer. Such calls use the decision of the
// allocation inside.
//
// The caller does not know whether a function of another unit allocates. A call that looks like an
// allocation (WrapperCalls) goes through a thunk. The thunk looks for the record of the function's
// second entry, a weak hidden symbol that the linker resolves.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_ALLOCATIONWRAPPERS_H
#define SMALLOC_PASSES_ALLOCATIONWRAPPERS_H

#include "passes/sites/AllocationSites.h"
#include "passes/sites/WrapperCalls.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/PassManager.h"
#include <optional>

namespace smalloc {

/// A function of the unit that returns fresh memory, or hands it out through an argument.
struct AllocationWrapper {
  llvm::Function *F = nullptr;
  llvm::SmallVector<llvm::CallBase *, 2> Fresh; ///< the calls whose block it returns or stores
  int Out = -1;          ///< argument that points to where it stores the memory; -1: it returns it
  int SizeArgument = -1; ///< argument that is the size of all blocks; -1: not one argument
  std::optional<uint64_t> ConstantSize; ///< bytes of each block, if constant and equal
  /// Set if one of the calls only has the form of an allocation. This function of another unit has
  /// to be a wrapper, too.
  const llvm::Function *Condition = nullptr;
  bool Exported = false; ///< other units of the image may call its second entry
};

class AllocationWrappers {
public:
  /// Finds the unit's wrappers, and marks the calls that are contexts as sites.
  /// REQUIRES: AllocationSitesPass has set its attributes.
  AllocationWrappers(llvm::Module &M, llvm::FunctionAnalysisManager &FAM);

  /// Returns the wrapper \p F; null if \p F is not a wrapper of the unit.
  const AllocationWrapper *find(const llvm::Function *F) const;
  const AllocationWrapper *calledBy(const llvm::CallBase &Call) const;
  llvm::ArrayRef<const AllocationWrapper *> all() const { return Order; }
  /// Returns the index of the argument of \p Call, a site, that points to where it stores its
  /// block; -1: it returns the block.
  int outArgument(const llvm::CallBase &Call) const;

  /// True if \p Call is a context: a site that is not an allocation itself.
  bool isContext(const llvm::CallBase &Call) const { return Contexts.contains(&Call); }
  /// Returns the allocations, at any depth, inside the function that the context \p Call calls.
  llvm::ArrayRef<const llvm::CallBase *> inside(const llvm::CallBase &Call) const;

private:
  bool analyse(llvm::Function &F);
  bool givesOnlyFresh(llvm::Function &F, AllocationWrapper &W);
  void findSize(AllocationWrapper &W) const;
  int sizeArgument(const llvm::CallBase &Call) const;
  std::optional<uint64_t> constantBytes(const llvm::CallBase &Call, const llvm::Value *Size) const;
  bool handsOut(llvm::Function &F, AllocationWrapper &W);
  bool storesOnlyFresh(llvm::Argument &A, AllocationWrapper &W);
  void dropSingleUses();
  bool isFresh(llvm::Value *V, AllocationWrapper &W, llvm::SmallPtrSetImpl<llvm::Value *> &Seen);

  llvm::FunctionAnalysisManager &FAM;
  llvm::DenseMap<const llvm::Function *, std::unique_ptr<AllocationWrapper>> Wrappers;
  llvm::DenseSet<const llvm::Function *> InProgress, Rejected;
  llvm::SmallVector<const AllocationWrapper *, 8> Order; ///< the wrappers in the unit's order
  size_t LoopInstructionsLeft = 0; ///< instructions in loops that may still be compiled twice
  llvm::DenseSet<const llvm::CallBase *> Contexts;
  llvm::DenseMap<const llvm::CallBase *, llvm::SmallVector<const llvm::CallBase *, 4>> Inside;
};

} // namespace smalloc
#endif
