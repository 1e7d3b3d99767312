//===- IndirectCalls.cpp - the functions that a pointer calls ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the functions of the unit that a call through a pointer reaches: entries of a table,
// members of a structure of operations, virtual functions. A function is an object like any other.
// A table's initializer stores its address, and a virtual call loads it from the table whose
// address a constructor has stored in the object. First solves what the pointer may point to. Then
// binds each call to the functions that it can call, which may add constraints, and repeats until
// nothing is new.
//
// If a call's pointer may also come from outside of the unit, the call passes its arguments to
// unknown code as well. So does a call that may reach too many functions: an interpreter's table
// joins functions that have nothing in common. A function that unknown code can get, or one of too
// many, has unknown callers.
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

/// Most functions that one call is bound to. A call with more is one to unknown code.
constexpr size_t MaxCallees = 16;
/// Most constants searched that hold a function's address.
constexpr size_t MaxHolders = 256;

/// True if the types of \p Call and \p Callee agree. A call of another function is an error of the
/// program or an imprecision of the analysis.
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

/// True if the constraints see all uses of the address of \p F, a function local to the unit. They
/// see uses in code and in variables that no other unit knows.
bool PointerOrigins::addressIsSeen(const Function &F) {
  SmallVector<const Constant *, 8> Stack{&F};
  SmallPtrSet<const Constant *, 16> Seen;
  while (!Stack.empty())
    for (const User *U : Stack.pop_back_val()->users()) {
      if (isa<IntrinsicInst>(U) && !cast<IntrinsicInst>(U)->isAssumeLikeIntrinsic())
        return false; // makes a trampoline of the function
      if (isa<Instruction>(U))
        continue;
      auto *G = dyn_cast<GlobalVariable>(U);
      if (G ? !G->hasLocalLinkage() || G->getName().starts_with("llvm.")
            : !isa<ConstantAggregate>(U) && !(isa<ConstantExpr>(U) && U->getType()->isPointerTy()))
        return false; // a variable of other units, an alias, or an address used in arithmetic
      if (Seen.insert(cast<Constant>(U)).second)
        Stack.push_back(cast<Constant>(U));
      if (Seen.size() > MaxHolders)
        return false;
    }
  return true;
}

/// Returns the location of \p F: the address of a function points to the function itself.
PointerOrigins::LocationId PointerOrigins::functionLocation(const Function &F) {
  if (auto It = ObjectOf.find(&F); It != ObjectOf.end())
    return locationOf(It->second, 0);
  const unsigned O = newObject(&F);
  Objects[O].Code = true;
  return locationOf(O, 0);
}

/// Binds calls to the functions that their pointers point to by now; true if the constraints have
/// to be solved again.
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
    More |= bindIndirectCall(At, New);
  }
  return More;
}

/// Opens \p F if it is local to the unit; true if that adds constraints.
bool PointerOrigins::openLocal(const Function &F) { return F.hasLocalLinkage() && openToWorld(F); }

/// Binds \p At to the functions at \p New, to which its pointer may point since the last visit;
/// true if that adds constraints.
bool PointerOrigins::bindIndirectCall(IndirectCall &At, const LocationSet &New) {
  bool More = false, Unknown = At.Seen.empty();
  SmallVector<const Function *, 8> Callees(At.Bound.begin(), At.Bound.end());
  for (LocationId L : New) {
    if (At.TooMany)
      break;
    const Object &O = Objects[Locations[L].ObjectIndex];
    if (!O.Code) {
      Unknown |= L == UnknownLoc;
      continue;
    }
    auto *F = cast<Function>(O.Origin);
    // A function that does not fit is not bound. But a cast may still call it, so it is opened.
    if (!fits(*At.Call, *F)) {
      if (!O.Open)
        More |= openLocal(*F);
      continue;
    }
    if (is_contained(Callees, F))
      continue;
    Callees.push_back(F);
    Unknown |= F->isDeclaration() || F->isInterposable();
    if (Callees.size() > MaxCallees) {
      At.TooMany = true;
      for (const Function *Met : Callees)
        More |= openLocal(*Met);
    }
  }
  if (At.TooMany)
    More |= openAmongMany(New);
  if (Callees.empty() || At.TooMany)
    Unknown = true;
  if (Unknown && !At.Unknown) {
    At.Unknown = More = true;
    passToUnknown(*At.Call, nullptr, nullptr);
  }
  if (At.TooMany)
    return More;
  for (const Function *F : ArrayRef(Callees).drop_front(At.Bound.size())) {
    At.Bound.push_back(F);
    More = true;
    if (!F->isDeclaration() && !F->isInterposable())
      bindCallee(*At.Call, *F);
  }
  return More;
}

/// Opens the functions at \p New, targets of a call with too many. Opens each function only once
/// for all these calls. True if that adds constraints.
bool PointerOrigins::openAmongMany(const LocationSet &New) {
  bool More = false;
  LocationSet Rest;
  AmongMany.insert(New, Rest);
  for (LocationId L : Rest)
    if (const Object &O = Objects[Locations[L].ObjectIndex]; O.Code && !O.Open)
      More |= openLocal(*cast<Function>(O.Origin));
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
