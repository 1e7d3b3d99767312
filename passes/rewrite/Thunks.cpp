//===- Thunks.cpp - functions that rewritten calls go through -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/rewrite/Thunks.h"
#include "passes/ir/LlvmVersions.h"
#include "passes/rewrite/ThunkParts.h"
#include "passes/rewrite/ThunkText.h"
#include "smalloc/site.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/MDBuilder.h"

using namespace llvm;

namespace smalloc {

namespace {

/// Returns an entry that a jump reaches. It is present if a cell is marked for it. It calls the
/// program's function, which may throw.
Function *jumpedEntry(Module &M, StringRef Name) {
  PointerType *Ptr = PointerType::getUnqual(M.getContext());
  Function *F = weakEntry(
      M, Name, FunctionType::get(Ptr, {Type::getInt64Ty(M.getContext()), Ptr, Ptr, Ptr}, false));
  F->removeFnAttr(Attribute::NoUnwind);
  return F;
}

Function *definedFunction(Module &M, StringRef Name) {
  Function *Known = M.getFunction(Name);
  return Known && !Known->isDeclaration() ? Known : nullptr;
}

/// Makes a hidden function (the linker keeps one per image) that a rewritten call goes through.
Function *hiddenThunk(Module &M, const Twine &Name, FunctionType *Type, AllocFamily Family) {
  return hiddenFunction(M, Name, Type, isNewFamily(Family) || Family >= AllocFamily::Wrapper);
}

void tailCall(IRBuilder<> &B, FunctionCallee Callee, ArrayRef<Value *> Arguments) {
  CallInst *Call = B.CreateCall(Callee, Arguments);
  Call->setTailCall();
  B.CreateRet(Call);
}

/// Returns the product, or the largest value if it overflows.
Value *saturatingProduct(IRBuilder<> &B, Value *Count, Value *Bytes) {
  Value *Pair = B.CreateBinaryIntrinsic(Intrinsic::umul_with_overflow, Count, Bytes);
  return B.CreateSelect(B.CreateExtractValue(Pair, 1), B.getInt64(-1),
                        B.CreateExtractValue(Pair, 0));
}

/// Returns the largest base page of the target's systems, which is valloc's alignment on any of
/// them.
uint64_t mostBasePageBytes(const Module &M) {
  const Triple T = targetTriple(M);
  return T.isAArch64() || T.isPPC() ? 65536 : 4096;
}

/// Returns the total bytes that a call with \p Arguments requests.
Value *requestedBytes(IRBuilder<> &B, AllocFamily Family, ArrayRef<Value *> Arguments) {
  if (Family == AllocFamily::Calloc)
    return saturatingProduct(B, Arguments[0], Arguments[1]);
  if (Family == AllocFamily::ReallocArray)
    return saturatingProduct(B, Arguments[1], Arguments[2]);
  Value *Bytes = Arguments[shapeOf(Family).SizeArgument];
  if (Family != AllocFamily::Pvalloc)
    return Bytes;
  const uint64_t Page = mostBasePageBytes(*B.GetInsertBlock()->getModule());
  Value *Sum = B.CreateBinaryIntrinsic(Intrinsic::uadd_sat, Bytes, B.getInt64(Page - 1));
  return B.CreateAnd(Sum, ~(Page - 1));
}

/// Builds the function that calls an entry of the runtime and, if that does nothing, the program's
/// own function. It is separate from the thunk, since only it needs a stack frame.
Function *askOf(Module &M, AllocFamily Family, StringRef Entry, FunctionCallee Original,
                FunctionType *Type) {
  const FamilyShape Shape = shapeOf(Family);
  LLVMContext &C = M.getContext();
  PointerType *Ptr = PointerType::getUnqual(C);
  std::string Name = (Entry + "_or_" + Original.getCallee()->getName()).str();
  if (Function *Known = definedFunction(M, Name))
    return Known;
  Function *F = hiddenThunk(M, Name, Type, Family);
  F->addFnAttr(Attribute::NoInline);
  SmallVector<Value *, 4> Arguments;
  for (unsigned I = 0; I + 1 < F->arg_size(); ++I)
    Arguments.push_back(F->getArg(I));
  auto Block = [&](const char *BlockName) { return BasicBlock::Create(C, BlockName, F); };
  BasicBlock *Ask = Block("ask"), *Done = Block("done"), *Plain = Block("plain");
  IRBuilder<> B(Ask);
  SmallVector<Value *, 4> Passed;
  if (!Shape.AsCalled) {
    Value *Bytes = requestedBytes(B, Family, Arguments);
    if (Family == AllocFamily::ReallocArray)
      Passed = {Arguments[0], Bytes};
    else
      Passed = {B.getInt64(mostBasePageBytes(M)), Bytes};
  } else if (isNewFamily(Family)) {
    Passed.push_back(Arguments[0]);
    if (Shape.AlignmentArgument >= 0)
      Passed.push_back(Arguments[Shape.AlignmentArgument]);
  } else {
    Passed = Arguments;
  }
  Passed.push_back(F->getArg(F->arg_size() - 1));
  SmallVector<llvm::Type *, 4> EntryParameters;
  for (Value *V : Passed)
    EntryParameters.push_back(V->getType());
  Function *Runtime =
      weakEntry(M, Entry, FunctionType::get(Type->getReturnType(), EntryParameters, false));
  CallInst *Result = B.CreateCall(Runtime, Passed);
  Value *Served = Family == AllocFamily::PosixMemalign
                      ? B.CreateICmpNE(Result, ConstantInt::getSigned(Result->getType(), -1))
                      : B.CreateICmpNE(Result, ConstantPointerNull::get(Ptr));
  B.CreateCondBr(Served, Done, Plain, MDBuilder(C).createLikelyBranchWeights());
  B.SetInsertPoint(Done);
  B.CreateRet(Result);
  B.SetInsertPoint(Plain);
  tailCall(B, Original, Arguments);
  return F;
}

/// Emits a jump to the entry of \p To, which \p Word takes if the runtime has marked the site for
/// it. Other calls continue.
void jumpIfMarked(IRBuilder<> &B, const MarkedEntry &To, Value *Word, Function *Original,
                  ArrayRef<Value *> All) {
  Function *F = B.GetInsertBlock()->getParent();
  LLVMContext &C = F->getContext();
  BasicBlock *Marked = BasicBlock::Create(C, "marked", F),
             *Others = BasicBlock::Create(C, "others", F);
  Value *Flag = B.CreateAnd(Word, uint64_t{To.Flag});
  B.CreateCondBr(B.CreateICmpNE(Flag, B.getInt64(0)), Marked, Others);
  B.SetInsertPoint(Marked);
  // nothrow's second argument; other calls have none
  Value *Argument = All.size() > 2 ? All[1] : PoisonValue::get(PointerType::getUnqual(C));
  tailCall(B, jumpedEntry(*F->getParent(), To.Entry), {All[0], All.back(), Original, Argument});
  B.SetInsertPoint(Others);
}

/// Returns whether the runtime may serve a request of \p Bytes at a site whose cell has \p Word.
Value *mayServe(IRBuilder<> &B, Value *Word, Value *Bytes) {
  // Compare in pages, rounded up; the program's own function refuses a size that wraps around. One
  // instruction per statement, since the evaluation order of arguments depends on the host
  // compiler.
  Value *Upper = B.CreateLShr(Word, 32 - 12);
  Value *Least = B.CreateAnd(Upper, ~uint64_t(4095));
  Value *Most = B.CreateAdd(Bytes, B.getInt64(4095));
  Value *BigEnough = B.CreateICmpUGE(Most, Least);
  Value *SmallFlag = B.CreateAnd(Word, uint64_t(SMALLOC_SITE_SMALL) << 8);
  Value *Small = B.CreateICmpNE(SmallFlag, B.getInt64(0));
  return B.CreateOr(BigEnough, Small);
}

/// Returns the type of a thunk: \p From with the cell as the last argument.
FunctionType *thunkType(FunctionType *From) {
  SmallVector<Type *, 8> Parameters(From->params());
  Parameters.push_back(PointerType::getUnqual(From->getContext()));
  return FunctionType::get(From->getReturnType(), Parameters, false);
}

LoadInst *loadWord(IRBuilder<> &B, Value *Cell) {
  LoadInst *Word = B.CreateAlignedLoad(B.getInt64Ty(), Cell, Align(8), "word");
  Word->setAtomic(AtomicOrdering::Monotonic);
  return Word;
}

/// Builds (once per unit) the thunk of \p Original, with the original arguments and then the cell.
/// The thunk chooses between the runtime and the program's function. A small-object site that the
/// runtime has marked direct costs one load and one branch before the call of its entry.
Function *sizedThunk(Module &M, AllocFamily Family, Function *Original, FunctionType *From) {
  const FamilyShape Shape = shapeOf(Family);
  const FunctionCallee Own(From, Original);
  std::string Name = (ThunkPrefix + Original->getName()).str();
  if (Function *Known = definedFunction(M, Name))
    return Known;
  FunctionType *ThunkType = thunkType(From);
  if (isAddedAsText(M)) {
    if (Function *Written = M.getFunction(Name))
      return Written;
    if (Shape.AsCalled && mayCallFromText(*Original))
      return sizedThunkText(M, Name, Family, *Original, ThunkType);
  }
  Function *F = hiddenThunk(M, Name, ThunkType, Family);
  SmallVector<Value *, 4> All, Arguments;
  for (Argument &A : F->args())
    All.push_back(&A);
  Arguments.assign(All.begin(), All.end() - 1);

  auto Block = [&](const char *BlockName) {
    return BasicBlock::Create(M.getContext(), BlockName, F);
  };
  BasicBlock *Entry = Block("entry"), *Sized = Block("sized"), *Present = Block("present"),
             *Ask = Block("ask"), *Plain = Block("plain");
  IRBuilder<> B(Entry);
  LoadInst *Word = loadWord(B, All.back());
  if (Shape.MayBeDirect)
    for (const MarkedEntry &To : MarkedEntries)
      jumpIfMarked(B, To, Word, Original, All);
  B.CreateCondBr(B.CreateICmpEQ(Word, B.getInt64(0)), Plain, Sized);

  B.SetInsertPoint(Sized);
  Value *Bytes = requestedBytes(B, Family, Arguments);
  B.CreateCondBr(mayServe(B, Word, Bytes), Present, Plain);

  B.SetInsertPoint(Present);
  Function *Asking = askOf(M, Family, Shape.Entry, Own, ThunkType);
  Value *Runtime = M.getFunction(Shape.Entry);
  B.CreateCondBr(B.CreateICmpNE(Runtime, ConstantPointerNull::get(B.getPtrTy())), Ask, Plain);
  B.SetInsertPoint(Ask);
  tailCall(B, Asking, All);
  B.SetInsertPoint(Plain);
  tailCall(B, Own, Arguments);
  return F;
}

/// Copies to \p F how \p Original extends narrow arguments. Returns the same for a call.
AttributeList extendArguments(Function *F, const Function *Original, const FunctionType *From) {
  AttributeList Passing;
  for (unsigned I = 0; I < Original->arg_size() && I < From->getNumParams(); ++I)
    for (Attribute::AttrKind Kind : {Attribute::ZExt, Attribute::SExt})
      if (Original->hasParamAttribute(I, Kind) &&
          Original->getArg(I)->getType() == From->getParamType(I)) {
        F->addParamAttr(I, Kind);
        Passing = Passing.addParamAttribute(F->getContext(), I, Kind);
      }
  return Passing;
}

/// Returns the runtime's entry for a function of flang's runtime or a mapping.
Function *tellingEntry(Module &M, AllocFamily Family) {
  LLVMContext &C = M.getContext();
  Type *I32 = Type::getInt32Ty(C), *Void = Type::getVoidTy(C), *Ptr = PointerType::getUnqual(C);
  switch (Family) {
  case AllocFamily::Mapping:
    return weakEntry(M, "__smalloc_v1_mapped",
                     FunctionType::get(Void, {Ptr, Type::getInt64Ty(C), Ptr}, false));
  case AllocFamily::FortranAllocate:
    return weakEntry(M, "__smalloc_v1_fortran_allocate", FunctionType::get(I32, {Ptr, Ptr}, false));
  case AllocFamily::FortranSource:
    return weakEntry(M, "__smalloc_v1_fortran_source",
                     FunctionType::get(I32, {Ptr, Ptr, Ptr}, false));
  case AllocFamily::FortranCopyIn:
    return weakEntry(M, "__smalloc_v1_fortran_copy_in",
                     FunctionType::get(I32, {Ptr, Ptr, Ptr}, false));
  default:
    return weakEntry(M, "__smalloc_v1_fortran_assign",
                     FunctionType::get(Void, {Ptr, Ptr, Ptr}, false));
  }
}

void returnResult(IRBuilder<> &B, Value *Result) {
  if (B.getCurrentFunctionReturnType()->isVoidTy())
    B.CreateRetVoid();
  else
    B.CreateRet(Result);
}

/// Builds the thunk of a function of flang's runtime, whose call does not show the allocated bytes,
/// or of a mapping, which is made in any case.
Function *tellingThunk(Module &M, AllocFamily Family, Function *Original, FunctionType *From) {
  const FunctionCallee Own(From, Original);
  std::string Name = (ThunkPrefix + Original->getName()).str();
  if (Function *Known = definedFunction(M, Name))
    return Known;
  LLVMContext &C = M.getContext();
  Function *F = hiddenThunk(M, Name, thunkType(From), Family);
  const AttributeList Passing = extendArguments(F, Original, From);
  SmallVector<Value *, 8> Arguments;
  for (Argument &A : F->args())
    Arguments.push_back(&A);
  Value *Cell = Arguments.pop_back_val();
  auto Block = [&](const char *BlockName) { return BasicBlock::Create(C, BlockName, F); };
  BasicBlock *Begin = Block("entry"), *Present = Block("present"), *Ask = Block("ask"),
             *Plain = Block("plain");
  IRBuilder<> B(Begin);
  CallInst *Mapped = nullptr;
  if (Family == AllocFamily::Mapping) {
    Mapped = B.CreateCall(Own, Arguments);
    Mapped->setAttributes(Passing);
  }
  LoadInst *Word = loadWord(B, Cell);
  B.CreateCondBr(B.CreateICmpEQ(Word, B.getInt64(0)), Plain, Present);

  Function *Entry = tellingEntry(M, Family);
  B.SetInsertPoint(Present);
  B.CreateCondBr(B.CreateICmpNE(Entry, ConstantPointerNull::get(B.getPtrTy())), Ask, Plain);
  B.SetInsertPoint(Ask);
  if (Family == AllocFamily::FortranAllocate || isFortranCopy(Family)) { // instead of the call
    Value *Result = isFortranCopy(Family) ? B.CreateCall(Entry, {Arguments[0], Arguments[1], Cell})
                                          : B.CreateCall(Entry, {Arguments[0], Cell});
    BasicBlock *Done = Block("done");
    B.CreateCondBr(B.CreateICmpEQ(Result, B.getInt32(0)), Done, Plain,
                   MDBuilder(C).createLikelyBranchWeights());
    B.SetInsertPoint(Done);
    returnResult(B, Result);
  } else {
    if (Mapped)
      B.CreateCall(Entry, {Mapped, Arguments[mappedBytesArgument(*Original)], Cell});
    else
      B.CreateCall(Entry, {Arguments[0], Arguments[1], Cell});
    B.CreateBr(Plain);
  }
  B.SetInsertPoint(Plain);
  if (Mapped) {
    B.CreateRet(Mapped);
    return F;
  }
  CallInst *Call = B.CreateCall(Own, Arguments);
  Call->setAttributes(Passing);
  Call->setTailCall();
  returnResult(B, Call);
  return F;
}

} // namespace

Function *thunkOf(Module &M, AllocFamily Family, Function *Original, FunctionType *Type) {
  return Family > AllocFamily::Wrapper ? tellingThunk(M, Family, Original, Type)
                                       : sizedThunk(M, Family, Original, Type);
}

} // namespace smalloc
