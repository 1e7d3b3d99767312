//===- WrapperCalls.cpp - calls that look like allocations ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/sites/WrapperCalls.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Operator.h"

using namespace llvm;

namespace smalloc {
namespace {

/// True for functions of the implementation: none of them is compiled with the plugin.
bool isReservedName(StringRef Name) {
  return Name.starts_with("__") || Name.starts_with("_ZNSt") || Name.starts_with("_ZNKSt") ||
         Name.starts_with("_ZSt") || Name.starts_with("_ZN9__gnu_cxx") ||
         Name.starts_with("_Fortran") || Name.starts_with("_Zn") || Name.starts_with("llvm.");
}

/// Returns the type of the variable or member at \p Address; null if it is unknown.
const Type *typeAt(const Value *Address) {
  Address = Address->stripPointerCasts();
  if (auto *A = dyn_cast<AllocaInst>(Address))
    return A->getAllocatedType();
  if (auto *G = dyn_cast<GlobalVariable>(Address))
    return G->getValueType();
  auto *G = dyn_cast<GEPOperator>(Address);
  return G && G->getNumIndices() > 1 ? G->getResultElementType() : nullptr;
}

} // namespace

bool returnsPointer(const FunctionType &Type) {
  return Type.getReturnType()->isPointerTy() && Type.getReturnType()->getPointerAddressSpace() == 0;
}

bool canTakeCell(const FunctionType &Type, const AttributeList &Attributes) {
  if (Type.isVarArg())
    return false;
  for (unsigned I = 0; I < Type.getNumParams(); ++I)
    for (Attribute::AttrKind Kind :
         {Attribute::ByVal, Attribute::InAlloca, Attribute::Preallocated, Attribute::StructRet,
          Attribute::SwiftError, Attribute::SwiftSelf, Attribute::Nest})
      if (Attributes.hasParamAttr(I, Kind))
        return false;
  return true;
}

bool plainCall(const CallBase &Call) {
  return isa<CallInst, InvokeInst>(Call) && !Call.isInlineAsm() && !Call.isMustTailCall() &&
         !Call.hasFnAttr(Attribute::ReturnsTwice) && !Call.hasOperandBundles();
}

bool isDeclaredFresh(const Function &F) {
  return F.getAttributes().hasRetAttr(Attribute::NoAlias) || F.hasFnAttribute(Attribute::AllocSize);
}

bool canBeSentOn(const CallBase &Call, const Function *Callee, const TargetLibraryInfo &TLI) {
  LibFunc Known;
  return Callee && plainCall(Call) && Callee->getFunctionType() == Call.getFunctionType() &&
         !Callee->isIntrinsic() && !isReservedName(Callee->getName()) &&
         !TLI.getLibFunc(*Callee, Known) &&
         canTakeCell(*Callee->getFunctionType(), Callee->getAttributes()) &&
         canTakeCell(*Callee->getFunctionType(), Call.getAttributes());
}

bool hasNumber(const Function &F) {
  return any_of(F.args(), [](const Argument &A) { return A.getType()->isIntegerTy(64); });
}

int mayHandOutThrough(const CallBase &Call, const TargetLibraryInfo &TLI) {
  const Function *Callee = calledFunction(Call);
  if (!Callee || !Callee->isDeclaration() || Callee->hasExternalWeakLinkage() ||
      Call.onlyReadsMemory() || !hasNumber(*Callee) ||
      !(Call.getType()->isVoidTy() || Call.getType()->isIntegerTy()) ||
      !canBeSentOn(Call, Callee, TLI))
    return -1;
  int Out = -1;
  for (unsigned I = 0; I < Call.arg_size(); ++I)
    if (const Value *Given = Call.getArgOperand(I); Given->getType()->isPointerTy())
      if (const Type *T = typeAt(Given); T && T->isPointerTy()) {
        if (Out >= 0)
          return -1;
        Out = static_cast<int>(I);
      }
  return Out;
}

int guessedOut(const CallBase &Call) {
  unsigned Out;
  const Function *Callee = calledFunction(Call);
  if (!Callee || !Callee->isDeclaration() ||
      Call.getFnAttr(OutAttr).getValueAsString().getAsInteger(10, Out) || Out >= Call.arg_size())
    return -1;
  return static_cast<int>(Out);
}

bool mayBeWrapperCall(const CallBase &Call, const TargetLibraryInfo &TLI) {
  const Function *Callee = calledFunction(Call);
  if (!canBeSentOn(Call, Callee, TLI) || !returnsPointer(*Callee->getFunctionType()))
    return false;
  if (!Callee->isDeclaration())
    return true; // analyse() reads its body
  if (Callee->hasExternalWeakLinkage() || Call.onlyReadsMemory() || Call.getReturnedArgOperand())
    return false;
  return isDeclaredFresh(*Callee) || hasNumber(*Callee);
}

} // namespace smalloc
