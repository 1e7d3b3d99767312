//===- CallConstraints.cpp - the constraints of calls -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collects the constraints that calls add to PointerOrigins. A site returns or stores a new object.
// A call of the unit's function copies the arguments and the result. A call of another function
// passes its arguments to unknown code, except for functions that are known to keep no pointer.
//===----------------------------------------------------------------------===//
#include "passes/ir/LlvmVersions.h"
#include "passes/pointers/PointerOrigins.h"
#include "passes/sites/AllocationSites.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/AbstractCallSite.h"
#include "llvm/IR/IntrinsicInst.h"
#include <utility>

using namespace llvm;

namespace smalloc {
namespace {

/// True for functions that keep no pointer. They free an object, write only bounds and null into a
/// Fortran descriptor, or only read it.
bool keepsNoPointer(StringRef Name) {
  static constexpr StringRef Names[] = {"munmap",
                                        "numa_free",
                                        "_FortranAAllocatableSetBounds",
                                        "_FortranAPointerSetBounds",
                                        "_FortranAAllocatableDeallocate",
                                        "_FortranACopyOutAssign",
                                        "_FortranAIsContiguous",
                                        "_FortranAPointerDeallocate"};
  return Name.starts_with("_ZdlPv") || Name.starts_with("_ZdaPv") || is_contained(Names, Name);
}

} // namespace

void PointerOrigins::collectCall(CallBase &Call, const TargetLibraryInfo &TLI) {
  if (Wrappers.isContext(Call)) {
    collectContext(Call);
    // Also handled like any call below: objects made inside show what the function puts into the
    // memory.
  } else if (Call.hasFnAttr(SiteIdAttr)) {
    return collectSite(Call);
  }
  if (auto *II = dyn_cast<IntrinsicInst>(&Call))
    return collectIntrinsic(*II);
  const Function *Callee = calledFunction(Call);
  if (Callee && Callee->getName() == "__smalloc_v1_touch")
    return; // libsmalloc's promotion point keeps no pointer
  if (Callee && !Callee->isDeclaration() && !Callee->isInterposable()) {
    bindCallee(Call, *Callee);
    return;
  }
  if (!Callee && !Coarse && !Call.isInlineAsm()) {
    IndirectCallOf[&Call] = static_cast<unsigned>(IndirectCalls.size());
    IndirectCalls.push_back({&Call, nodeOf(Call.getCalledOperand())});
    return;
  }
  LibFunc Known;
  if (Callee && TLI.getLibFunc(*Callee, Known) && Known == LibFunc_free)
    return;
  if (Callee && keepsNoPointer(Callee->getName()))
    return;
  if (Callee)
    bindThreadStart(Call, *Callee);
  if (Callee && bindContainerLink(Call, *Callee))
    return;
  passToUnknown(Call, Callee, &TLI);
}

/// Copies the pointers stored in the memory at \p From to the memory at \p To.
void PointerOrigins::copyContents(const Value *To, const Value *From) {
  if (Coarse)
    return;
  NodeId Source = newNode(), Target = newNode(), Moved = newNode();
  addShift(nodeOf(From), Source, AnyOffset);
  addShift(nodeOf(To), Target, AnyOffset);
  addLoad(Source, Moved);
  addStore(Moved, Target);
}

/// Stores the address of the object \p ObjectIndex at \p Address.
void PointerOrigins::storeObject(unsigned ObjectIndex, const Value *Address) {
  NodeId Block = newNode();
  addPoints(Block, locationOf(ObjectIndex, 0));
  addStore(Block, nodeOf(Address));
}

void PointerOrigins::collectContext(CallBase &Call) {
  unsigned O = newObject(&Call);
  Objects[O].Site = &Call;
  if (const int Out = Wrappers.outArgument(Call); Out >= 0)
    storeObject(O, Call.getArgOperand(static_cast<unsigned>(Out)));
  else
    addPoints(nodeOf(&Call), locationOf(O, 0));
}

void PointerOrigins::collectSite(CallBase &Call) {
  std::optional<AllocFamily> Family = allocationFamily(Call);
  unsigned O = newObject(&Call);
  Objects[O].Site = &Call;
  if (Family && storesResult(*Family)) {
    storeObject(O, Call.getArgOperand(0));
  } else if (carriesPointer(Call.getType())) {
    addPoints(nodeOf(&Call), locationOf(O, 0));
    if (Family == AllocFamily::Realloc || Family == AllocFamily::ReallocArray)
      copyContents(&Call, Call.getArgOperand(0));
  }
}

void PointerOrigins::collectIntrinsic(IntrinsicInst &Call) {
  if (auto *Copy = dyn_cast<AnyMemTransferInst>(&Call))
    copyContents(Copy->getRawDest(), Copy->getRawSource());
  else if (carriesPointer(Call.getType()))
    // launder.invariant.group, ptrmask, ssa.copy ...: copies of the operands
    for (const Use &Op : Call.args())
      if (carriesPointer(Op->getType()))
        addCopy(nodeOf(Op), nodeOf(&Call));
}

PointerOrigins::NodeId PointerOrigins::returnOf(const Function &F) {
  NodeId Return = ReturnNodes.try_emplace(&F, 0).first->second;
  if (!Return)
    ReturnNodes[&F] = Return = newNode();
  return Return;
}

/// Lets code outside of the unit call \p F. False if that was known already; always true for a
/// function whose address no constraint has, which has no object to remember it.
bool PointerOrigins::openToWorld(const Function &F) {
  if (auto It = ObjectOf.find(&F);
      It != ObjectOf.end() && std::exchange(Objects[It->second].Open, true))
    return false;
  for (const Argument &A : F.args())
    if (carriesPointer(A.getType()))
      addPoints(nodeOf(&A), UnknownLoc);
  addCopy(returnOf(F), World);
  return true;
}

/// Copies the arguments of \p Call to \p Callee, a function of the unit, and its result back.
void PointerOrigins::bindCallee(const CallBase &Call, const Function &Callee) {
  for (unsigned I = 0; I < Call.arg_size(); ++I) {
    if (!carriesPointer(Call.getArgOperand(I)->getType()))
      continue;
    if (I < Callee.arg_size())
      addCopy(nodeOf(Call.getArgOperand(I)), nodeOf(Callee.getArg(I)));
    else
      addCopy(nodeOf(Call.getArgOperand(I)), World); // variadic argument
  }
  if (carriesPointer(Call.getType()))
    addCopy(returnOf(Callee), nodeOf(&Call));
}

/// Passes the pointers in the arguments of \p Call to code outside of the unit, and lets it return
/// any. \p Callee, with \p TLI: the function if it has a name; else null.
void PointerOrigins::passToUnknown(const CallBase &Call, const Function *Callee,
                                   const TargetLibraryInfo *TLI) {
  const bool GivesPointer = carriesPointer(Call.getType());
  LibFunc Known = NumLibFuncs;
  const bool Library = Callee && TLI->getLibFunc(*Callee, Known);
  for (unsigned I = 0; I < Call.arg_size(); ++I) {
    if (!carriesPointer(Call.getArgOperand(I)->getType()))
      continue;
    if (GivesPointer && Call.paramHasAttr(I, Attribute::Returned))
      addCopy(nodeOf(Call.getArgOperand(I)), nodeOf(&Call));
    // Library functions that return their argument (strcpy, strcat) keep no copy of it.
    if (Library && Call.paramHasAttr(I, Attribute::Returned))
      continue;
    // A pointer that only the result contains (strchr) stays in the unit. qsort keeps no pointer,
    // but it calls its last argument.
    if (mayKeep(Call, I) || (Known == LibFunc_qsort && I == 3))
      addCopy(nodeOf(Call.getArgOperand(I)), World);
    else if (GivesPointer && mayReturn(Call, I))
      addShift(nodeOf(Call.getArgOperand(I)), nodeOf(&Call), AnyOffset);
  }
  if (GivesPointer && !Call.getReturnedArgOperand() &&
      !(Callee && Wrappers.isContext(Call) && isDeclaredFresh(*Callee)))
    addPoints(nodeOf(&Call), UnknownLoc);
}

/// Copies the argument of a new thread to the thread's start function. pthread_create(thread,
/// attributes, start, argument) and thrd_create(thread, start, argument) have no !callback
/// metadata.
void PointerOrigins::bindThreadStart(CallBase &Call, const Function &Callee) {
  unsigned At = Callee.getName() == "pthread_create" ? 2
                : Callee.getName() == "thrd_create"  ? 1
                                                     : 0;
  if (!At || Call.arg_size() <= At + 1)
    return;
  auto *Start = dyn_cast<Function>(Call.getArgOperand(At)->stripPointerCastsAndAliases());
  if (Start && !Start->isDeclaration() && Start->arg_size() > 0)
    addCopy(nodeOf(Call.getArgOperand(At + 1)), nodeOf(Start->getArg(0)));
}

/// Adds the constraints of libstdc++ functions that link nodes of lists and trees, whose code is
/// not in the unit. Any node may then hold any other node. False if \p Callee is no such function.
bool PointerOrigins::bindContainerLink(CallBase &Call, const Function &Callee) {
  if (!Callee.getName().contains("_List_node_base") && !Callee.getName().contains("_Rb_tree_"))
    return false;
  NodeId Any = newNode();
  SmallVector<NodeId, 4> Addresses;
  for (const Use &Argument : Call.args()) {
    if (!carriesPointer(Argument->getType()))
      continue;
    NodeId Address = newNode();
    addShift(nodeOf(Argument), Address, AnyOffset);
    addCopy(nodeOf(Argument), Any);
    addLoad(Address, Any);
    Addresses.push_back(Address);
  }
  for (NodeId Address : Addresses)
    addStore(Any, Address);
  if (carriesPointer(Call.getType()))
    addCopy(Any, nodeOf(&Call));
  return true;
}

void PointerOrigins::bindCallbacks(Function &F) {
  for (const Use &U : F.uses()) {
    AbstractCallSite Broker(&U);
    if (!Broker || !Broker.isCallbackCall())
      continue;
    for (Argument &A : F.args())
      if (Value *Passed = Broker.getCallArgOperand(A); Passed && carriesPointer(A.getType()))
        addCopy(nodeOf(Passed), nodeOf(&A));
  }
}

} // namespace smalloc
