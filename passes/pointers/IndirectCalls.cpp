//===- IndirectCalls.cpp - which functions does a pointer call? -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which functions of the unit a call through a pointer reaches: entries of a table, members of a structure of operations,
// virtual functions. A function is an object as any other: a table's initializer stores its address, a virtual call loads it
// from the table that a constructor has stored in the object. What the pointer may point to is solved first; then each call is bound
// to the functions that it can call, which may show new ones, until nothing is new.
//
// A call whose pointer may also come from elsewhere hands its arguments to unknown code as well, as one does that may reach too many:
// an interpreter's table joins what has nothing in common. A function that unknown code can get hold of, or one of too many, has
// unknown callers.
//===----------------------------------------------------------------------===//
#include "passes/pointers/PointerOrigins.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/IntrinsicInst.h"
#include <utility>

using namespace llvm;

namespace smalloc {
namespace {

/// Functions that one call is bound to; with more it is one to unknown code.
constexpr size_t MaxCallees = 16;
/// Constants looked at that hold a function's address.
constexpr size_t MaxHolders = 256;

/// A call of another function is an error of the program, or something that the analysis has lost on the way.
bool fits(const CallBase &Call, const Function &Callee) {
  const FunctionType *Type = Callee.getFunctionType();
  const unsigned Fixed = Type->getNumParams();
  if (Call.getCallingConv() != Callee.getCallingConv() ||
      (!Call.getType()->isVoidTy() && Call.getType() != Type->getReturnType()) ||
      (Type->isVarArg() ? Call.arg_size() < Fixed : Call.arg_size() != Fixed))
    return false;
  for (unsigned I = 0; I < Fixed; ++I)
    if (Call.getArgOperand(I)->getType() != Type->getParamType(I))
      return false;
  return true;
}

} // namespace

/// True if the address of \p F, a function of this unit alone, is only where the constraints see it: in code, and in variables that
/// no other unit knows.
bool PointerOrigins::addressIsSeen(const Function &F) {
  SmallVector<const Constant *, 8> Stack{&F};
  SmallPtrSet<const Constant *, 16> Seen;
  while (!Stack.empty())
    for (const User *U : Stack.pop_back_val()->users()) {
      if (isa<IntrinsicInst>(U) && !cast<IntrinsicInst>(U)->isAssumeLikeIntrinsic())
        return false; // a trampoline is made of it
      if (isa<Instruction>(U))
        continue;
      auto *G = dyn_cast<GlobalVariable>(U);
      if (G ? !G->hasLocalLinkage() || G->getName().starts_with("llvm.")
            : !isa<ConstantAggregate>(U) && !(isa<ConstantExpr>(U) && U->getType()->isPointerTy()))
        return false; // what others read, an alias, an address that is computed with
      if (Seen.insert(cast<Constant>(U)).second)
        Stack.push_back(cast<Constant>(U));
      if (Seen.size() > MaxHolders)
        return false;
    }
  return true;
}

/// Where the address of \p F points: to itself.
PointerOrigins::LocationId PointerOrigins::functionLocation(const Function &F) {
  if (auto It = ObjectOf.find(&F); It != ObjectOf.end())
    return locationOf(It->second, 0);
  const unsigned O = newObject(&F);
  Objects[O].Code = true;
  return locationOf(O, 0);
}

/// Binds calls to what their pointers have come to point to; true if the constraints are to be solved again.
bool PointerOrigins::bindIndirectCalls() {
  bool More = false;
  Budget -= std::min<unsigned>(Budget, static_cast<unsigned>(IndirectCalls.size()));
  for (IndirectCall &At : IndirectCalls) {
    LocationSet New;
    At.Seen.insert(PointsTo[representative(At.Called)], New);
    if (New.empty() && std::exchange(At.Looked, true))
      continue;
    At.Looked = true;
    Budget -= std::min(Budget, At.Seen.count() / 16);
    bool Unknown = At.Seen.empty();
    SmallVector<const Function *, 8> Callees(At.Bound.begin(), At.Bound.end());
    auto Open = [&](const Function &F) {
      if (F.hasLocalLinkage())
        More |= openToWorld(F);
    };
    for (LocationId L : New) {
      if (At.TooMany)
        break;
      const Object &O = Objects[Locations[L].ObjectIndex];
      if (!O.Code) {
        Unknown |= L == UnknownLoc;
        continue;
      }
      auto *F = cast<Function>(O.Origin);
      // One too many, or one that does not fit, is not bound; but who knows what a cast calls.
      if (!fits(*At.Call, *F)) {
        if (!O.Open)
          Open(*F);
        continue;
      }
      if (is_contained(Callees, F))
        continue;
      Callees.push_back(F);
      Unknown |= F->isDeclaration() || F->isInterposable();
      if (Callees.size() > MaxCallees) {
        At.TooMany = true;
        for (const Function *Met : Callees)
          Open(*Met);
      }
    }
    if (At.TooMany) { // as many others are: what one of them calls is open already
      LocationSet Rest;
      AmongMany.insert(New, Rest);
      for (LocationId L : Rest)
        if (const Object &O = Objects[Locations[L].ObjectIndex]; O.Code && !O.Open)
          Open(*cast<Function>(O.Origin));
    }
    if (Callees.empty() || At.TooMany)
      Unknown = true;
    if (Unknown && !At.Unknown) {
      At.Unknown = More = true;
      passToUnknown(*At.Call, nullptr, nullptr);
    }
    if (At.TooMany)
      continue;
    for (const Function *F : ArrayRef(Callees).drop_front(At.Bound.size())) {
      At.Bound.push_back(F);
      More = true;
      if (!F->isDeclaration() && !F->isInterposable())
        bindCallee(*At.Call, *F);
    }
  }
  return More;
}

SmallVector<const Function *, 2> PointerOrigins::functionsOf(const Value *Pointer) const {
  SmallVector<const Function *, 2> Result;
  if (auto *F = dyn_cast<Function>(Pointer))
    return {F};
  auto It = ValueNodes.find(Pointer);
  if (OutOfBudget || It == ValueNodes.end())
    return Result;
  for (LocationId L : PointsTo[representative(It->second)])
    if (const Object &O = Objects[Locations[L].ObjectIndex]; O.Code)
      if (auto *F = cast<Function>(O.Origin); !is_contained(Result, F))
        Result.push_back(F);
  if (Result.size() > MaxCallees)
    Result.clear();
  return Result;
}

ArrayRef<const Function *> PointerOrigins::calleesOf(const CallBase &Call) const {
  auto It = IndirectCallOf.find(&Call);
  return It == IndirectCallOf.end() || OutOfBudget
             ? ArrayRef<const Function *>()
             : ArrayRef<const Function *>(IndirectCalls[It->second].Bound);
}

ArrayRef<const CallBase *> PointerOrigins::indirectCallsOf(const Function &F) const {
  auto It = IndirectCallsOf.find(&F);
  return It == IndirectCallsOf.end() || OutOfBudget ? ArrayRef<const CallBase *>()
                                                    : ArrayRef(It->second);
}

} // namespace smalloc
