//===- KeyedSummary.cpp - pointers that cross the unit's borders ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the keys of a pointer by walking back to where the unit got it. KeyNames.cpp makes the
// keys, and KeyedFlows.cpp lists which of them flow into which.
//===----------------------------------------------------------------------===//
#include "passes/pointers/KeyedSummary.h"
#include "passes/sites/AllocationSites.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include <set>

using namespace llvm;

namespace smalloc {
namespace {

/// Most keys of one pointer. With more, the keys say little about what it points to.
constexpr size_t MaxRoots = 8;

} // namespace

SmallVector<KeyRoot, 2> KeyNames::memoryOf(const Instruction &Access, unsigned Lane) {
  if (std::optional<uint64_t> Field = fieldKey(Access, Lane))
    return {{*Field, false}};
  const Value *Address = getLoadStorePointerOperand(&Access);
  return Address ? pointersAt(Address, Lane) : Roots();
}

/// Returns the keys of the pointers that are stored at \p Address, \p Lane pointers behind it.
SmallVector<KeyRoot, 2> KeyNames::pointersAt(const Value *Address, unsigned Lane) {
  APInt Offset(Layout.getIndexTypeSizeInBits(Address->getType()), 0);
  const Value *Base =
      Address->stripAndAccumulateConstantOffsets(Layout, Offset, /*AllowNonInbounds=*/true);
  if (auto *G = dyn_cast<GlobalVariable>(Base))
    return {{globalKey(*G, Offset.getSExtValue() +
                               static_cast<int64_t>(Lane * Layout.getPointerSize())),
             false}};
  Roots Result;
  for (KeyRoot R : rootsOf(Address)) {
    R.Contents = true; // all deeper levels share one key
    if (!is_contained(Result, R))
      Result.push_back(R);
  }
  return Result;
}

SmallVector<KeyRoot, 2> KeyNames::rootsOf(VectorLane Pointer) {
  Roots Result;
  SmallPtrSet<const Value *, 16> Seen;
  walk(Pointer, Result, Seen);
  return Result;
}

/// True if \p Call reaches code that other units know by the name of \p Callee, which it sets.
bool KeyNames::outsiders(const CallBase &Call, const Function *&Callee) {
  Callee = calledFunction(Call);
  if (!Callee || Callee->isIntrinsic() || !hasKeys(*Callee) ||
      (Call.hasFnAttr(SiteIdAttr) && !Wrappers.isContext(Call)) ||
      Callee->getName().starts_with("_Zd") || Callee->getName().starts_with("__smalloc_") ||
      Callee->getName().starts_with("_FortranA")) // flang's runtime has no summaries
    return false;
  LibFunc Known;
  return !FAM.getResult<TargetLibraryAnalysis>(*const_cast<Function *>(Call.getFunction()))
              .getLibFunc(*Callee, Known);
}

/// Returns the pointer through which \p Call calls if it is an argument or was loaded from a place
/// that has a key; else null.
const Value *KeyNames::throughPlace(const CallBase &Call) {
  const Value *Called = Call.getCalledOperand();
  auto *Load = dyn_cast<LoadInst>(Called);
  if (Call.isInlineAsm() ||
      !(isa<Argument>(Called) ||
        (Load && (fieldKey(*Load) || isa<GlobalVariable>(Load->getPointerOperand())))))
    return nullptr;
  return Called;
}

/// Returns the keys by which other units know argument \p K of the function that \p Call calls.
SmallVector<uint64_t, 2> KeyNames::namesOfArgument(const CallBase &Call, unsigned K) {
  const Function *Callee;
  if (outsiders(Call, Callee))
    return {argumentKey(*Callee, K)};
  SmallVector<uint64_t, 2> Keys;
  if (Callee || Call.isInlineAsm())
    return Keys;
  for (const Function *Reached : Origins.calleesOf(Call))
    if (hasKeys(*Reached) && K < Reached->arg_size())
      Keys.push_back(argumentKey(*Reached, K));
  if (const uint64_t Virtual = virtualKeyOf(Call, static_cast<int>(K)))
    Keys.push_back(Virtual);
  if (const uint64_t Bound = boundKeyOf(Call, K))
    Keys.push_back(Bound);
  for (KeyRoot Place : rootsOf(Call.getCalledOperand()))
    if (!Place.Contents)
      Keys.push_back(throughKey(Place.Key, K));
  return Keys;
}

struct KeyNames::Walk {
  Roots &Out;
  SmallPtrSetImpl<const Value *> &Seen;
  SmallVector<const Value *, 8> Stack;
  bool Cycle = false; ///< a pointer was loaded through a pointer that the walk had visited
  void add(KeyRoot R) {
    if (Out.size() < MaxRoots && !is_contained(Out, R))
      Out.push_back(R);
  }
};

void KeyNames::walk(VectorLane From, Roots &Out, SmallPtrSetImpl<const Value *> &Seen) {
  Walk Back{Out, Seen, {}};
  walkLane(From, Back);
  while (!Back.Stack.empty() && Seen.size() < MaxWalk) {
    const Value *At = Back.Stack.pop_back_val()->stripPointerCastsAndAliases();
    if (!Seen.insert(At).second)
      continue;
    if (auto *G = dyn_cast<GEPOperator>(At)) {
      Back.Stack.push_back(G->getPointerOperand());
    } else if (isa<AllocaInst, GlobalVariable>(At)) {
      if (uint64_t Block = blockKey(*At))
        Back.add({Block, false});
    } else if (auto *A = dyn_cast<Argument>(At)) {
      walkArgument(*A, Back);
    } else if (auto *Call = dyn_cast<CallBase>(At)) {
      walkCall(*Call, Back);
    } else if (auto *Load = dyn_cast<LoadInst>(At)) {
      walkLoad(*Load, 0, Back);
    } else if (auto *Extract = dyn_cast<ExtractElementInst>(At)) {
      if (auto *Index = dyn_cast<ConstantInt>(Extract->getIndexOperand()))
        walkLane(laneOf(Extract->getVectorOperand(), static_cast<unsigned>(Index->getZExtValue())),
                 Back);
    } else if (isa<PHINode, SelectInst>(At)) {
      for (const Use &Op : cast<User>(At)->operands())
        if (Op->getType()->isPointerTy())
          Back.Stack.push_back(Op);
    }
  }
  // A list or a tree: each pointer may lead to the next one.
  if (Back.Cycle)
    for (KeyRoot R : Roots(Out))
      Back.add({R.Key, true});
}

void KeyNames::walkArgument(const Argument &A, Walk &Back) {
  const Function &F = *A.getParent();
  if (hasKeys(F)) {
    Back.add({argumentKey(F, A.getArgNo()), false});
    return;
  }
  for (const Use &U : F.uses())
    if (auto *Call = dyn_cast<CallBase>(U.getUser());
        Call && Call->isCallee(&U) && A.getArgNo() < Call->arg_size())
      Back.Stack.push_back(Call->getArgOperand(A.getArgNo()));
  for (const CallBase *Call : Origins.indirectCallsOf(F))
    Back.Stack.push_back(Call->getArgOperand(A.getArgNo()));
}

void KeyNames::walkCall(const CallBase &Call, Walk &Back) {
  const Function *Callee = nullptr;
  if (const Value *Same = Call.getReturnedArgOperand())
    Back.Stack.push_back(Same);
  else if (Wrappers.isContext(Call)) {
    Callee = calledFunction(Call);
    const AllocationWrapper *W = Wrappers.find(Callee);
    if (W ? W->Condition && isExported(*Callee) : !isDeclaredFresh(*Callee))
      Back.add({otherwiseKey(*Callee), false});
  } else if (outsiders(Call, Callee))
    Back.add({resultKey(*Callee), false});
  else if (Callee = calledFunction(Call); Callee && Callee->hasLocalLinkage())
    for (const BasicBlock &Block : *Callee)
      if (auto *Return = dyn_cast<ReturnInst>(Block.getTerminator());
          Return && Return->getReturnValue() && Return->getReturnValue()->getType()->isPointerTy())
        Back.Stack.push_back(Return->getReturnValue());
  for (const Function *Reached : Origins.calleesOf(Call))
    if (hasKeys(*Reached))
      Back.add({resultKey(*Reached), false});
  if (const uint64_t Virtual = Callee ? 0 : virtualKeyOf(Call, -1))
    Back.add({Virtual, false});
  // The result of a function pointer's call has the key of the pointer's contents.
  if (const Value *Through = Callee ? nullptr : throughPlace(Call))
    walkThrough(Through, Back);
}

/// Walks back from a pointer, or from an element of a vector of pointers.
void KeyNames::walkLane(VectorLane Pointer, Walk &Back) {
  if (!Pointer.From)
    return;
  if (Pointer.From->getType()->isPointerTy())
    Back.Stack.push_back(Pointer.From);
  else if (auto *Load = dyn_cast<LoadInst>(Pointer.From); Load && pointerLanes(Load->getType()))
    walkLoad(*Load, Pointer.Lane, Back);
}

void KeyNames::walkLoad(const LoadInst &Load, unsigned Lane, Walk &Back) {
  if (std::optional<uint64_t> Field = fieldKey(Load, Lane)) {
    Back.add({*Field, false});
  } else if (isa<GlobalVariable>(getUnderlyingObject(Load.getPointerOperand()))) {
    for (KeyRoot R : memoryOf(Load, Lane))
      Back.add(R);
  } else {
    walkThrough(Load.getPointerOperand(), Back);
  }
}

/// Adds the keys of the pointers that are stored where \p Pointer points to.
void KeyNames::walkThrough(const Value *Pointer, Walk &Back) {
  Back.Cycle |= Back.Seen.contains(getUnderlyingObject(Pointer));
  Roots Through;
  walk({Pointer, 0}, Through, Back.Seen);
  for (KeyRoot R : Through)
    Back.add({R.Key, true});
}

std::vector<uint64_t> KeyNames::keysOfElsewhere() {
  std::vector<uint64_t> Keys;
  std::set<uint64_t> Seen;
  for (Function &F : M)
    for (Instruction &I : instructions(F)) {
      if (auto *Store = dyn_cast<StoreInst>(&I);
          Store && isa<AllocaInst, GlobalVariable>(getUnderlyingObject(Store->getPointerOperand())))
        if (uint64_t Key = objectKeyOf(*Store); Key && Seen.insert(Key).second)
          Keys.push_back(Key);
      auto *Call = dyn_cast<CallBase>(&I);
      const Function *Callee;
      if (!Call || !outsiders(*Call, Callee))
        continue;
      for (unsigned K = 0; K < Call->arg_size(); ++K) {
        const Value *V = Call->getArgOperand(K);
        if (!V->getType()->isPointerTy() || isa<ConstantPointerNull, UndefValue, Function>(V))
          continue;
        const PointerOrigins::Answer &From = Origins.originsOf(V);
        if (isa<AllocaInst, GlobalVariable>(getUnderlyingObject(V)) ||
            (From.Sites.empty() && !From.Unknown))
          if (uint64_t Key = argumentKey(*Callee, K); Seen.insert(Key).second)
            Keys.push_back(Key);
      }
    }
  for (auto &[Variable, Place] : Places) // a pointer to the variable itself
    if (Place.Block && Seen.insert(Place.Block).second)
      Keys.push_back(Place.Block);
  return Keys;
}

} // namespace smalloc
