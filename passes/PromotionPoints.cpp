//===- PromotionPoints.cpp - where a program may promote its objects --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides where the program tells the runtime "now this object is going to be walked in a way that superpages speed up":
// in the preheader of the outermost loop of a profitable nest. Allocator slow paths never run in a program that
// allocates, initialises and then computes. With nothing to promote it costs a call and two loads.
//===----------------------------------------------------------------------===//
#include "SiteRewriter.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/LoopUtils.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"

using namespace llvm;

namespace smalloc {
namespace {

/// A nest known to run fewer accesses than this cannot pay for one collapse.
constexpr uint64_t MinAccesses = 1u << 16;
/// Each level's count is clamped to this, so that the product of three levels fits 64 bits.
constexpr uint64_t MaxTrip = 1u << 20;

/// hidden void __smalloc_v1_touch(ptr, i64): returns at once unless some object waits for promotion.
Function *touchThunk(Module &M) {
  if (Function *Known = M.getFunction("__smalloc_v1_touch"))
    return Known;
  LLVMContext &C = M.getContext();
  PointerType *Ptr = PointerType::getUnqual(C);
  Type *I32 = Type::getInt32Ty(C), *I64 = Type::getInt64Ty(C), *Void = Type::getVoidTy(C);
  Function *F =
      Function::createWithDefaultAttr(FunctionType::get(Void, {Ptr, I64}, false),
                                      GlobalValue::LinkOnceODRLinkage, 0, "__smalloc_v1_touch", &M);
  F->setVisibility(GlobalValue::HiddenVisibility);
  F->setDSOLocal(true);
  F->setComdat(M.getOrInsertComdat(F->getName()));
  F->setDoesNotThrow();
  F->setUWTableKind(UWTableKind::Default);
  auto *Pending = new GlobalVariable(M, I32, false, GlobalValue::ExternalWeakLinkage, nullptr,
                                     "__smalloc_v1_pending");
  Function *Touching =
      Function::Create(FunctionType::get(Void, {Ptr, I64}, false), GlobalValue::ExternalWeakLinkage,
                       "__smalloc_v1_touching", M);
  Touching->setDoesNotThrow();
  Touching->addFnAttr(Attribute::NonLazyBind);
  Constant *Null = ConstantPointerNull::get(Ptr);
  auto Block = [&](const char *Name) { return BasicBlock::Create(C, Name, F); };
  BasicBlock *Entry = Block("entry"), *Look = Block("look"), *Call = Block("call"),
             *End = Block("end");
  IRBuilder<> B(Entry);
  B.CreateCondBr(B.CreateAnd(B.CreateICmpNE(Pending, Null), B.CreateICmpNE(Touching, Null)), Look,
                 End);
  B.SetInsertPoint(Look);
  LoadInst *Waiting = B.CreateAlignedLoad(I32, Pending, Align(4));
  Waiting->setAtomic(AtomicOrdering::Monotonic);
  B.CreateCondBr(B.CreateICmpNE(Waiting, B.getInt32(0)), Call, End);
  B.SetInsertPoint(Call);
  B.CreateCall(Touching, {F->getArg(0), F->getArg(1)})->setTailCall();
  B.CreateBr(End);
  B.SetInsertPoint(End);
  B.CreateRetVoid();
  return F;
}

/// The object's pointer as a value of the preheader: the base itself, or a copy of its load when the loop surely
/// executes that load first thing. Null if there is none.
Value *baseInPreheader(const ProfitableNest &N, Instruction *At, ScalarEvolution &SE,
                       DominatorTree &DT) {
  auto *Base = dyn_cast<SCEVUnknown>(SE.getPointerBase(SE.getSCEV(N.Reference.Pointer)));
  if (!Base)
    return nullptr;
  Value *V = Base->getValue();
  auto *I = dyn_cast<Instruction>(V);
  if (!I)
    return isa<Constant>(V) ? nullptr : V; // static arrays are not ours to promote
  if (DT.dominates(I, At))
    return V;
  auto *Load = dyn_cast<LoadInst>(I);
  if (!Load || !Load->isSimple() || Load->getParent() != N.Outermost->getHeader() ||
      !N.Outermost->isLoopInvariant(Load->getPointerOperand()))
    return nullptr;
  for (Instruction &Before : *Load->getParent()) {
    if (&Before == Load)
      break;
    if (!isGuaranteedToTransferExecutionToSuccessor(&Before))
      return nullptr;
  }
  Instruction *Copy = Load->clone();
  Copy->dropUnknownNonDebugMetadata();
  Copy->insertBefore(At->getIterator());
  return Copy;
}

/// Accesses of the whole nest as a value of the preheader; 0 when some count is not known there.
Value *accessesInPreheader(const ProfitableNest &N, Instruction *At, ScalarEvolution &SE) {
  Type *I64 = Type::getInt64Ty(At->getContext());
  const SCEV *Total = SE.getOne(I64);
  unsigned Depth = 0;
  for (const LoopLevel &L : N.Reference.Levels) {
    if (!L.L)
      break;
    if (++Depth > 3)
      break;
    const SCEV *Trip;
    if (L.Trip) {
      Trip = SE.getConstant(I64, std::min(*L.Trip, MaxTrip));
    } else {
      const SCEV *Count = SE.getBackedgeTakenCount(L.L);
      if (isa<SCEVCouldNotCompute>(Count) || SE.getTypeSizeInBits(Count->getType()) > 64 ||
          !SE.isLoopInvariant(Count, N.Outermost))
        return ConstantInt::get(I64, 0);
      Trip = SE.getAddExpr(SE.getNoopOrZeroExtend(Count, I64), SE.getOne(I64));
      Trip = SE.getUMinExpr(Trip, SE.getConstant(I64, MaxTrip));
    }
    Total = SE.getMulExpr(Total, Trip);
  }
  SCEVExpander Expander(SE, "smalloc");
  if (!Expander.isSafeToExpandAt(Total, At))
    return ConstantInt::get(I64, 0);
  return Expander.expandCodeFor(Total, I64, At->getIterator());
}

bool tooShort(const LoopReference &R) {
  uint64_t Accesses = 1;
  for (const LoopLevel &L : R.Levels) {
    if (!L.Trip)
      return false;
    Accesses *= std::min(*L.Trip, MaxTrip);
    if (Accesses >= MinAccesses)
      return false;
  }
  return true;
}

} // namespace

bool insertPromotionPoints(ArrayRef<ProfitableNest> Nests, FunctionAnalysisManager &FAM) {
  DenseSet<std::pair<const Loop *, Value *>> Done;
  bool Changed = false;
  for (const ProfitableNest &N : Nests) {
    BasicBlock *Preheader = N.Outermost->getLoopPreheader();
    if (!Preheader) // simplified away: behind the loop's guard again, so that a loop that does not run asks nothing
      Preheader = InsertPreheaderForLoop(
          const_cast<Loop *>(N.Outermost), &FAM.getResult<DominatorTreeAnalysis>(*N.F),
          &FAM.getResult<LoopAnalysis>(*N.F), nullptr, /*PreserveLCSSA=*/false);
    if (!Preheader || tooShort(N.Reference))
      continue;
    Instruction *At = Preheader->getTerminator();
    if (At->isEHPad())
      continue;
    ScalarEvolution &SE = FAM.getResult<ScalarEvolutionAnalysis>(*N.F);
    DominatorTree &DT = FAM.getResult<DominatorTreeAnalysis>(*N.F);
    auto *Base = dyn_cast<SCEVUnknown>(SE.getPointerBase(SE.getSCEV(N.Reference.Pointer)));
    if (!Base || !Done.insert({N.Outermost, Base->getValue()}).second)
      continue;
    Value *Object = baseInPreheader(N, At, SE, DT);
    if (!Object)
      continue;
    Value *Accesses = accessesInPreheader(N, At, SE);
    IRBuilder<> B(At);
    CallInst *Call = B.CreateCall(touchThunk(*N.F->getParent()), {Object, Accesses});
    // It changes which pages back the memory, never what the memory holds.
    Call->setMemoryEffects(MemoryEffects::inaccessibleMemOnly());
    Call->setDoesNotThrow();
    Call->addParamAttr(0, Attribute::getWithCaptureInfo(Call->getContext(), CaptureInfo::none()));
    if (DebugLoc Start = N.Outermost->getStartLoc())
      Call->setDebugLoc(Start);
    Changed = true;
  }
  return Changed;
}

} // namespace smalloc
