//===- PromotionPoints.cpp - where a program may promote its objects --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides where the program tells the runtime "now this object is going to be walked in a way that superpages speed up":
// in the preheader of the outermost loop of a profitable nest. Allocator slow paths never run in a program that
// allocates, initialises and then computes. PromotionGuards.h decides what it costs when there is nothing to promote.
//===----------------------------------------------------------------------===//
#include "PromotionGuards.h"
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
/// Levels of a nest that are multiplied; their counts are clamped so that the product fits 64 bits.
constexpr unsigned MaxLevels = 3;
constexpr uint64_t maxTrip(unsigned Levels) {
  return uint64_t(1) << (Levels < 2 ? 48 : Levels == 2 ? 30 : 20);
}

/// Returns at once unless some object waits for promotion. PromotionGuards takes its test into the callers, in the end.
Function *touchThunk(Module &M) {
  Function *Known = M.getFunction(TouchName);
  if (Known && !Known->isDeclaration())
    return Known;
  Constant *Pending = pendingObjects(M);
  Function *F = hiddenTouch(M, TouchName);
  F->addFnAttr(Attribute::NoInline);
  LLVMContext &C = M.getContext();
  auto Block = [&](const char *Name) { return BasicBlock::Create(C, Name, F); };
  BasicBlock *Entry = Block("entry"), *Look = Block("look"), *Wait = Block("wait"),
             *Done = Block("done");
  IRBuilder<> B(Entry);
  B.CreateCondBr(B.CreateIsNotNull(Pending), Look, Done);
  B.SetInsertPoint(Look);
  LoadInst *Waiting = B.CreateAlignedLoad(Type::getInt32Ty(C), Pending, Align(4));
  Waiting->setAtomic(AtomicOrdering::Monotonic);
  B.CreateCondBr(B.CreateIsNotNull(Waiting), Wait, Done);
  B.SetInsertPoint(Done);
  B.CreateRetVoid();
  callTouching(*F, Wait);
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
  const auto Loops =
      count_if(N.Reference.Levels, [](const LoopLevel &L) { return L.L != nullptr; });
  const uint64_t MaxTrip = maxTrip(static_cast<unsigned>(Loops));
  unsigned Depth = 0;
  for (const LoopLevel &L : N.Reference.Levels) {
    if (!L.L || ++Depth > MaxLevels)
      break;
    const SCEV *Trip;
    if (L.Trip) {
      Trip = SE.getConstant(I64, std::min(*L.Trip, MaxTrip));
    } else {
      const SCEV *Count = SE.getBackedgeTakenCount(L.L);
      if (isa<SCEVCouldNotCompute>(Count) || SE.getTypeSizeInBits(Count->getType()) > 64 ||
          !SE.isLoopInvariant(Count, N.Outermost))
        continue; // at least once
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
    Accesses *= std::min(*L.Trip, maxTrip(MaxLevels));
    if (Accesses >= MinAccesses)
      return false;
  }
  return true;
}

/// Steps that a walk through pointers of unknown length is taken to make.
constexpr uint64_t AssumedWalk = 16;

BasicBlock *preheaderOf(const Loop *L, Function &F, FunctionAnalysisManager &FAM) {
  if (BasicBlock *Known = L->getLoopPreheader())
    return Known;
  // Simplified away: behind the loop's guard again, so that a loop that does not run asks nothing.
  return InsertPreheaderForLoop(const_cast<Loop *>(L), &FAM.getResult<DominatorTreeAnalysis>(F),
                                &FAM.getResult<LoopAnalysis>(F), nullptr, /*PreserveLCSSA=*/false);
}

/// The loop whose header phi \p Base is: the one that walks a structure through its pointers.
const Loop *walkOf(const ProfitableNest &N, const Value *Base) {
  auto *Phi = dyn_cast<PHINode>(Base);
  for (const LoopLevel &L : N.Reference.Levels)
    if (Phi && L.L && L.L->getHeader() == Phi->getParent())
      return L.L;
  return nullptr;
}

/// Has the compile phase put a point there already?
bool isTouched(const Instruction *At, const Value *Object) {
  auto *Loaded = dyn_cast<LoadInst>(Object);
  return any_of(*At->getParent(), [&](const Instruction &I) {
    auto *Call = dyn_cast<CallInst>(&I);
    if (!Call || !Call->getCalledFunction() || Call->getCalledFunction()->getName() != TouchName)
      return false;
    const Value *Other = Call->getArgOperand(0);
    auto *OtherLoad = dyn_cast<LoadInst>(Other);
    return Other == Object ||
           (Loaded && OtherLoad && Loaded->getPointerOperand() == OtherLoad->getPointerOperand());
  });
}

void insertTouch(const ProfitableNest &N, Instruction *At, Value *Object, Value *Accesses) {
  IRBuilder<> B(At);
  CallInst *Call = B.CreateCall(touchThunk(*N.F->getParent()), {Object, Accesses});
  // It changes which pages back the memory, never what the memory holds.
  Call->setMemoryEffects(MemoryEffects::inaccessibleMemOnly());
  Call->setDoesNotThrow();
  Call->addParamAttr(0, Attribute::getWithCaptureInfo(Call->getContext(), CaptureInfo::none()));
  if (DebugLoc Start = N.Outermost->getStartLoc())
    Call->setDebugLoc(Start);
}

} // namespace

void insertPromotionPoints(ArrayRef<ProfitableNest> Nests, FunctionAnalysisManager &FAM) {
  DenseSet<std::pair<const Loop *, Value *>> Done;
  for (const ProfitableNest &N : Nests) {
    ScalarEvolution &SE = FAM.getResult<ScalarEvolutionAnalysis>(*N.F);
    DominatorTree &DT = FAM.getResult<DominatorTreeAnalysis>(*N.F);
    if (!SE.isSCEVable(N.Reference.Pointer->getType()) || tooShort(N.Reference) ||
        N.F->hasAvailableExternallyLinkage())
      continue;
    auto *Base = dyn_cast<SCEVUnknown>(SE.getPointerBase(SE.getSCEV(N.Reference.Pointer)));
    if (!Base || !Done.insert({N.Outermost, Base->getValue()}).second)
      continue;
    // A walk through pointers starts from one that is known before its own loop, not before the outermost.
    const Loop *Walk = walkOf(N, Base->getValue());
    BasicBlock *Before = preheaderOf(Walk ? Walk : N.Outermost, *N.F, FAM);
    if (!Before || Before->getTerminator()->isEHPad())
      continue;
    Instruction *At = Before->getTerminator();
    if (Walk) {
      Value *Start = cast<PHINode>(Base->getValue())->getIncomingValueForBlock(Before);
      if (isa<Constant>(Start) || isTouched(At, Start))
        continue;
      insertTouch(N, At, Start, ConstantInt::get(Type::getInt64Ty(At->getContext()), AssumedWalk));
    } else if (Value *Object = baseInPreheader(N, At, SE, DT)) {
      if (isTouched(At, Object))
        continue;
      insertTouch(N, At, Object, accessesInPreheader(N, At, SE));
    }
  }
}

} // namespace smalloc
