//===- Prototypes.cpp - the allocation functions and their types ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/sites/Prototypes.h"
#include "passes/ir/CallReplacement.h"
#include "passes/ir/LlvmVersions.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace smalloc {
namespace {

constexpr FamilyRow Families[] = {
    {AllocFamily::Malloc, "malloc", "pl"},
    {AllocFamily::Calloc, "calloc", "pll"},
    {AllocFamily::Realloc, "realloc", "ppl"},
    {AllocFamily::AlignedAlloc, "aligned_alloc", "pll"},
    {AllocFamily::AlignedAlloc, "memalign", "pll"},
    {AllocFamily::PosixMemalign, "posix_memalign", "ipll"},
    {AllocFamily::Valloc, "valloc", "pl"},
    {AllocFamily::Pvalloc, "pvalloc", "pl"},
    {AllocFamily::ReallocArray, "reallocarray", "ppll"},
    {AllocFamily::New, "_Znwm", "pl"},
    {AllocFamily::NewArray, "_Znam", "pl"},
    {AllocFamily::NewNothrow, "_ZnwmRKSt9nothrow_t", "plp"},
    {AllocFamily::NewArrayNothrow, "_ZnamRKSt9nothrow_t", "plp"},
    {AllocFamily::NewAligned, "_ZnwmSt11align_val_t", "pll"},
    {AllocFamily::NewArrayAligned, "_ZnamSt11align_val_t", "pll"},
    {AllocFamily::NewAlignedNothrow, "_ZnwmSt11align_val_tRKSt9nothrow_t", "pllp"},
    {AllocFamily::NewArrayAlignedNothrow, "_ZnamSt11align_val_tRKSt9nothrow_t", "pllp"},
    {AllocFamily::FortranAllocate, "_FortranAAllocatableAllocate", "ippbppip"},
    {AllocFamily::FortranAllocate, "_FortranAPointerAllocate", "ipbppip"},
    {AllocFamily::FortranAssign, "_FortranAAssign", "vpppi"},
    {AllocFamily::FortranSource, "_FortranAAllocatableAllocateSource", "ippbppi"},
    {AllocFamily::FortranSource, "_FortranAPointerAllocateSource", "ippbppi"},
    {AllocFamily::FortranCopyIn, "_FortranACopyInAssign", "vpppi"},
    {AllocFamily::Mapping, "mmap", "ppliiil"},
    {AllocFamily::Mapping, "mmap64", "ppliiil"},
    {AllocFamily::Mapping, "numa_alloc", "pl"},
    {AllocFamily::Mapping, "numa_alloc_local", "pl"},
    {AllocFamily::Mapping, "numa_alloc_interleaved", "pl"},
    {AllocFamily::Mapping, "numa_alloc_onnode", "pli"},
};

Fit fitOf(const Type *T, char C) {
  auto FitIf = [](bool Fits) { return Fits ? Fit::Exact : Fit::Not; };
  switch (C) {
  case 'p':
    return FitIf(T->isPointerTy() && T->getPointerAddressSpace() == 0);
  case 'l':
    return T->isIntegerTy(64)                                 ? Fit::Exact
           : T->isIntegerTy() && T->getIntegerBitWidth() < 64 ? Fit::Convertible
                                                              : Fit::Not;
  case 'i':
    return FitIf(T->isIntegerTy(32));
  case 'b':
    return FitIf(T->isIntegerTy(1));
  default:
    return FitIf(T->isVoidTy());
  }
}

/// Returns \p Argument as the callee finds it in a 64-bit parameter. Up to 32 bits, the call's
/// attributes say how it is extended. Beyond, it is sign-extended only where the calling convention
/// keeps narrow integers extended to a whole register. Elsewhere 32-bit instructions have made the
/// value, and they clear the upper half.
Value *asPassed(IRBuilder<> &B, const CallBase &Call, unsigned I) {
  Value *Argument = Call.getArgOperand(I);
  const bool Signed = Call.paramHasAttr(I, Attribute::SExt);
  const Triple T = targetTriple(*Call.getModule());
  if (Signed && Argument->getType()->getIntegerBitWidth() < 32 && !T.isRISCV() && !T.isPPC())
    Argument = B.CreateSExt(Argument, B.getInt32Ty());
  return B.CreateIntCast(Argument, B.getInt64Ty(), Signed && (T.isRISCV() || T.isPPC()));
}

} // namespace

ArrayRef<FamilyRow> allocationFunctions() { return Families; }

Fit fitOf(const CallBase &Call, const Function &Callee, StringRef Types) {
  const FunctionType &F = *Call.getFunctionType();
  if (F.getNumParams() + 1 != Types.size() || Call.arg_size() != F.getNumParams() ||
      fitOf(F.getReturnType(), Types[0]) != Fit::Exact)
    return Fit::Not;
  Fit Worst = Fit::Exact;
  if (F.isVarArg()) { // f(): the arguments make the type; f(size_t, ...) is another function
    if (Callee.isVarArg() && Callee.arg_size() > 0)
      return Fit::Not;
    Worst = Fit::Convertible;
  }
  for (unsigned I = 0; I < F.getNumParams(); ++I) {
    if (Call.isPassPointeeByValueArgument(I))
      return Fit::Not;
    Worst = std::min(Worst, fitOf(F.getParamType(I), Types[I + 1]));
  }
  return Worst;
}

const FamilyRow *calledRow(const CallBase &Call) {
  if (Call.isInlineAsm() || Call.isMustTailCall() || !isa<CallInst, InvokeInst>(Call))
    return nullptr;
  const auto *Callee = dyn_cast<Function>(Call.getCalledOperand()->stripPointerCastsAndAliases());
  if (!Callee || !Callee->isDeclaration())
    return nullptr;
  // Compares the name; callers compare the prototype. The attribute "allockind" is inferred later
  // in the pipeline. An explicit call of ::operator new is "nobuiltin", which only forbids eliding
  // it.
  const StringRef Name = Callee->getName();
  const auto *Row = find_if(Families, [&](const FamilyRow &R) { return R.Name == Name; });
  return Row == std::end(Families) ? nullptr : Row;
}

void callByPrototype(CallBase &Call, StringRef Types) {
  LLVMContext &C = Call.getContext();
  IRBuilder<> B(&Call);
  AttributeList Attributes = Call.getAttributes();
  SmallVector<Value *, 4> Arguments;
  SmallVector<Type *, 4> Parameters;
  for (unsigned I = 0; I < Call.arg_size(); ++I) {
    Value *Passed = Call.getArgOperand(I);
    if (Types[I + 1] == 'l' && !Passed->getType()->isIntegerTy(64)) {
      Passed = asPassed(B, Call, I);
      Attributes = Attributes.removeParamAttributes(C, I); // they belong to the old type
    }
    Arguments.push_back(Passed);
    Parameters.push_back(Passed->getType());
  }
  callInstead(Call, {FunctionType::get(Call.getType(), Parameters, false), Call.getCalledOperand()},
              Arguments, Attributes);
}

void forForeignPrototypes(Module &M, function_ref<bool(const Function &)> Skip,
                          function_ref<void(CallBase &, const FamilyRow &, Fit)> Do) {
  for (const FamilyRow &Row : Families) {
    Function *Callee = M.getFunction(Row.Name);
    if (!Callee || !Callee->isDeclaration())
      continue;
    SmallVector<CallBase *, 4> Calls;
    for (User *U : Callee->users())
      if (auto *Call = dyn_cast<CallBase>(U);
          Call && Call->getCalledOperand() == Callee && !Skip(*Call->getFunction()))
        Calls.push_back(Call);
    for (CallBase *Call : Calls) {
      const Fit How = fitOf(*Call, *Callee, Row.Types);
      if (How != Fit::Exact && calledRow(*Call))
        Do(*Call, Row, How);
    }
  }
}

} // namespace smalloc
