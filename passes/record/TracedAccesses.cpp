//===- TracedAccesses.cpp - selects the accesses to record ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/record/TracedAccesses.h"
#include "passes/ir/LlvmVersions.h"
#include "passes/record/SteadyRuns.h"
#include "smalloc/access.h"
#include "smalloc/site.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

using namespace llvm;

namespace smalloc {
namespace {

/// An access records its neighbours up to this distance: a few cache lines, or one vectorised and
/// unrolled iteration.
constexpr uint64_t NeighbourBytes = 256;
/// An access with a smaller step per iteration stays on its page for a while.
constexpr uint64_t SteadyStride = 512;
/// Static data up to this size is a variable, not an array.
constexpr uint64_t SmallStaticBytes = 64;
constexpr unsigned MaxCompared = 64;    ///< leaders that an access is compared with
constexpr unsigned MaxRemembered = 128; ///< accesses of a function that remember their last page
constexpr unsigned MaxExpressionSize = 100; ///< of a value that a walk needs before the loop
/// A loop of more instructions gets no second version: its code would grow for relatively few
/// accesses.
constexpr unsigned MaxVersionedInstructions = 1000;
/// Once the versions of a function hold this many instructions, its other loops get none. This
/// limits compile time and memory, for instance for an interpreter's loop of a thousand cases with
/// loops.
constexpr unsigned MaxVersionedOfFunction = 5000;

/// An access that may stand for its neighbours.
struct Leader {
  RecordedAccess Access;
  const SCEV *Address = nullptr; ///< null for vectors of pointers
  Loop *L = nullptr;
  unsigned Calls = 0; ///< calls of the block before the access
};

class Finder {
public:
  Finder(Function &F, FunctionAnalysisManager &FAM)
      : F(F), DL(F.getParent()->getDataLayout()), LI(FAM.getResult<LoopAnalysis>(F)),
        DT(FAM.getResult<DominatorTreeAnalysis>(F)), SE(FAM.getResult<ScalarEvolutionAnalysis>(F)) {
  }

  TracedAccesses run() {
    noteCalls();
    ReversePostOrderTraversal<Function *> Order(&F);
    for (BasicBlock *Block : Order) {
      Calls = 0;
      for (Instruction &I : *Block) {
        visit(I);
        Calls += isCall(I);
      }
    }
    // Walks first: they record the leaders of their loops.
    for (Loop *L : LI.getLoopsInPreorder())
      if (L->isInnermost() && !Calling.count(L))
        tryWalk(*L);
    erase_if(Leaders, [](const Leader &G) { return !G.Access.Before; });
    unsigned Remembered = 0;
    for (Leader &G : Leaders) {
      G.Access.Kind = kindOf(G);
      if (G.Access.Kind == RecordedAccess::How::Steady && ++Remembered > MaxRemembered)
        G.Access.Kind = RecordedAccess::How::Outside;
    }
    joinSteady();
    for (const Leader &G : Leaders)
      if (G.Access.Before)
        Result.Accesses.push_back(G.Access);
    for (Loop *L : LI.getTopLevelLoops())
      planVersion(*L);
    for (RecordedAccess &A : Result.Accesses)
      if (Value *Pointer = A.Mask ? nullptr : getLoadStorePointerOperand(A.Before))
        A.Pointer = Pointer; // now a phi, if it comes out of a loop
    dropReachedInto();
    return std::move(Result);
  }

private:
  /// True if \p I may touch memory that this function does not show.
  static bool isCall(const Instruction &I) {
    const auto *Call = dyn_cast<CallBase>(&I);
    return Call && !isa<IntrinsicInst>(Call) && !Call->doesNotAccessMemory();
  }

  void noteCalls() {
    for (BasicBlock &Block : F)
      for (Instruction &I : Block)
        if (isCall(I) || isa<MemIntrinsic>(I)) {
          Calling.insert(nullptr);
          for (const Loop *L = LI.getLoopFor(&Block); L; L = L->getParentLoop())
            Calling.insert(L);
        }
  }

  bool isRecorded(const Value *Pointer) const {
    if (Pointer->getType()->getPointerAddressSpace() != 0 || Pointer->isSwiftError())
      return false;
    const Value *Object = getUnderlyingObject(Pointer, 16);
    if (isa<AllocaInst>(Object) || isa<ConstantPointerNull>(Object) || isa<UndefValue>(Object))
      return false;
    if (const auto *A = dyn_cast<Argument>(Object))
      return !A->hasByValAttr() && !A->hasStructRetAttr();
    if (const auto *I = dyn_cast<IntrinsicInst>(Object))
      return I->getIntrinsicID() != Intrinsic::threadlocal_address;
    const auto *G = dyn_cast<GlobalVariable>(Object);
    return !G || (!G->isThreadLocal() && !G->getName().starts_with("__smalloc_v1_") &&
                  G->getSection() != SMALLOC_CELLS_SECTION &&
                  !(G->getValueType()->isSized() &&
                    DL.getTypeAllocSize(G->getValueType()).getKnownMinValue() <= SmallStaticBytes));
  }

  void visit(Instruction &I) {
    if (auto *L = dyn_cast<LoadInst>(&I))
      return access(I, L->getPointerOperand(), false);
    if (auto *S = dyn_cast<StoreInst>(&I))
      return access(I, S->getPointerOperand(), true);
    if (auto *A = dyn_cast<AtomicRMWInst>(&I))
      return access(I, A->getPointerOperand(), true);
    if (auto *A = dyn_cast<AtomicCmpXchgInst>(&I))
      return access(I, A->getPointerOperand(), true);
    if (auto *M = dyn_cast<MemIntrinsic>(&I))
      return block(*M);
    auto *Intrinsic = dyn_cast<IntrinsicInst>(&I);
    if (!Intrinsic)
      return;
    switch (Intrinsic->getIntrinsicID()) {
    case Intrinsic::masked_load:
      return access(I, Intrinsic->getArgOperand(0), false);
    case Intrinsic::masked_store:
      return access(I, Intrinsic->getArgOperand(1), true);
    case Intrinsic::masked_gather:
      return lanes(I, Intrinsic->getArgOperand(0), maskOf(*Intrinsic), false);
    case Intrinsic::masked_scatter:
      return lanes(I, Intrinsic->getArgOperand(1), maskOf(*Intrinsic), true);
    default:
      return;
    }
  }

  static Value *maskOf(IntrinsicInst &I) {
    for (Value *V : I.args())
      if (auto *T = dyn_cast<FixedVectorType>(V->getType());
          T && T->getElementType()->isIntegerTy(1))
        return V;
    return nullptr;
  }

  void lanes(Instruction &I, Value *Pointers, Value *Mask, bool Writes) {
    auto *T = dyn_cast<FixedVectorType>(Pointers->getType());
    if (!T || !Mask || T->getPointerAddressSpace() != 0)
      return;
    Leaders.push_back({{&I, Pointers, Mask, Writes}, nullptr, LI.getLoopFor(I.getParent()), Calls});
  }

  void access(Instruction &I, Value *Pointer, bool Writes) {
    if (!isRecorded(Pointer))
      return;
    Loop *L = LI.getLoopFor(I.getParent());
    const SCEV *Address = SE.getSCEV(Pointer);
    unsigned Compared = 0;
    for (Leader &G : reverse(Leaders)) {
      if (++Compared > MaxCompared)
        break;
      if (!G.Address || G.L != L || !speaksFor(G, I))
        continue;
      if (!isNeighbour(Pointer, G.Address))
        continue;
      G.Access.Writes |= Writes;
      return;
    }
    Leaders.push_back({{&I, Pointer, nullptr, Writes}, Address, L, Calls});
  }

  /// True if \p Pointer is a neighbour for each of its values: one of two fields, an element of a
  /// small array.
  bool isNeighbour(Value *Pointer, const SCEV *Leader, unsigned Selects = 2) const {
    if (auto *S = dyn_cast<SelectInst>(Pointer))
      return Selects > 0 && isNeighbour(S->getTrueValue(), Leader, Selects - 1) &&
             isNeighbour(S->getFalseValue(), Leader, Selects - 1);
    const SCEV *Distance = SE.getMinusSCEV(SE.getSCEV(Pointer), Leader);
    if (isa<SCEVCouldNotCompute>(Distance))
      return false;
    const ConstantRange Range = SE.getSignedRange(Distance);
    const auto Most = static_cast<int64_t>(NeighbourBytes);
    return Range.getSignedMin().sge(-Most) && Range.getSignedMax().sle(Most);
  }

  /// True if the leader's access has just happened when \p I runs, without a call in between that
  /// could touch distant memory.
  bool speaksFor(const Leader &G, const Instruction &I) const {
    if (G.Access.Before->getParent() == I.getParent())
      return G.Calls == Calls;
    return !Calling.count(G.L) && DT.dominates(G.Access.Before, &I);
  }

  void block(MemIntrinsic &M) {
    auto *Transfer = dyn_cast<MemTransferInst>(&M);
    if (auto *Length = dyn_cast<ConstantInt>(M.getLength());
        Length && Length->getValue().ule(NeighbourBytes)) {
      if (Transfer)
        access(M, Transfer->getRawSource(), false);
      access(M, M.getRawDest(), true);
      return;
    }
    Value *Bytes = M.getLength();
    if (!Bytes->getType()->isIntegerTy(64))
      return;
    Value *Step = ConstantInt::get(Bytes->getType(), 16);
    RecordedWalk W{&M, Bytes, {}};
    if (Transfer && isRecorded(Transfer->getRawSource()))
      W.References.push_back({Transfer->getRawSource(), Step, false});
    if (isRecorded(M.getRawDest()))
      W.References.push_back({M.getRawDest(), Step, true});
    if (!W.References.empty())
      Result.Blocks.push_back(std::move(W));
  }

  BasicBlock *preheader(Loop &L) {
    BasicBlock *Before = L.getLoopPreheader();
    if (!Before)
      Before = InsertPreheaderForLoop(&L, &DT, &LI, nullptr, /*PreserveLCSSA=*/false);
    return Before && !Before->getTerminator()->isEHPad() ? Before : nullptr;
  }

  RecordedAccess::How kindOf(const Leader &G) const {
    if (!G.L)
      return RecordedAccess::How::Outside;
    if (!G.Address)
      return RecordedAccess::How::Scattered;
    if (SE.isLoopInvariant(G.Address, G.L))
      return RecordedAccess::How::Steady;
    const auto *R = dyn_cast<SCEVAddRecExpr>(G.Address);
    const auto *Step =
        R && R->isAffine() ? dyn_cast<SCEVConstant>(R->getStepRecurrence(SE)) : nullptr;
    return Step && Step->getAPInt().abs().ule(SteadyStride) ? RecordedAccess::How::Steady
                                                            : RecordedAccess::How::Scattered;
  }

  /// True if the access runs in each iteration and no call of the loop touches distant memory. All
  /// such accesses of a loop form one piece.
  bool isInEach(const Leader &G) const {
    const BasicBlock *Latch = G.L->getLoopLatch();
    return Latch && G.L->getExitingBlock() == Latch && !Calling.count(G.L) &&
           DT.dominates(G.Access.Before->getParent(), Latch);
  }

  /// Keeps the last access of each run, which records all of it: there, all pointers are known.
  void joinSteady() {
    std::vector<SteadyAccess> Steady(Leaders.size());
    for (auto [G, S] : zip(Leaders, Steady))
      if (G.Access.Kind == RecordedAccess::How::Steady)
        S = isInEach(G) ? SteadyAccess{G.Address, G.L, G.L, 0}
                        : SteadyAccess{G.Address, G.L, G.Access.Before->getParent(), G.Calls};
    for (const SteadyRun &Run : steadyRuns(Steady, SE)) {
      RecordedRun Told{Run.Counter, {}};
      for (const SteadyRun::Member &M : Run.Members) {
        RecordedAccess &A = Leaders[M.Index].Access;
        Told.Members.push_back({A, M.Bytes});
        if (M.Index != Run.Members.back().Index)
          A.Before = nullptr;
      }
      Result.Runs.push_back(std::move(Told));
      Leaders[Run.Members.back().Index].Access.Run = Result.Runs.size();
    }
  }

  /// Returns start and stride of an address that is known before the loop; null if it is unknown.
  std::pair<const SCEV *, const SCEV *> motion(const Leader &G, const Loop &L) const {
    if (SE.isLoopInvariant(G.Address, &L))
      return {G.Address, SE.getZero(Type::getInt64Ty(F.getContext()))};
    const auto *R = dyn_cast<SCEVAddRecExpr>(G.Address);
    if (!R || R->getLoop() != &L || !R->isAffine() ||
        SE.getTypeSizeInBits(R->getStepRecurrence(SE)->getType()) != 64)
      return {nullptr, nullptr};
    return {R->getStart(), R->getStepRecurrence(SE)};
  }

  /// True if \p S divides by a run-time value: too expensive in front of a loop that may be short.
  static bool dividesAtRunTime(const SCEV *S) {
    const auto *D = dyn_cast<SCEVUDivExpr>(S);
    return D && !isa<SCEVConstant>(D->getRHS());
  }

  void tryWalk(Loop &L) {
    BasicBlock *Latch = L.getLoopLatch();
    SmallVector<Leader *, 8> Inside;
    for (Leader &G : Leaders)
      if (G.Access.Before && G.L == &L)
        Inside.push_back(&G);
    if (!Latch || Inside.empty() || Inside.size() > SMALLOC_MOST_WALK_REFERENCES)
      return;
    const SCEV *Count = SE.getBackedgeTakenCount(&L);
    if (isa<SCEVCouldNotCompute>(Count) || SE.getTypeSizeInBits(Count->getType()) > 64)
      return;
    SmallVector<const SCEV *, 16> Needed = {Count};
    for (Leader *G : Inside) {
      if (!G->Address || !DT.dominates(G->Access.Before->getParent(), Latch))
        return;
      auto [Start, Stride] = motion(*G, L);
      if (!Start)
        return;
      append_range(Needed, ArrayRef<const SCEV *>{Start, Stride});
    }
    BasicBlock *Before = preheader(L);
    if (!Before)
      return;
    Instruction *At = Before->getTerminator();
    ScevExpander Expander(SE);
    for (const SCEV *S : Needed)
      if (!Expander.isSafeToExpandAt(S, At) || S->getExpressionSize() > MaxExpressionSize ||
          SCEVExprContains(S, dividesAtRunTime))
        return;
    Type *I64 = Type::getInt64Ty(F.getContext());
    RecordedWalk W;
    W.Before = At;
    W.BackedgesTaken =
        Expander.expandCodeFor(SE.getNoopOrZeroExtend(Count, I64), I64, At->getIterator());
    for (Leader *G : Inside) {
      auto [Start, Stride] = motion(*G, L);
      W.References.push_back({Expander.expandCodeFor(Start, Start->getType(), At->getIterator()),
                              Expander.expandCodeFor(Stride, I64, At->getIterator()),
                              G->Access.Writes});
      G->Access.Before = nullptr; // the walk records it
    }
    Result.Walks.push_back(std::move(W));
  }

  /// Selects the outermost loops that may have a version.
  void planVersion(Loop &L) {
    if (Calling.count(&L) || !mayBeCloned(L)) {
      for (Loop *Inner : L)
        planVersion(*Inner);
      return;
    }
    if (none_of(Result.Accesses, [&L](const RecordedAccess &A) {
          return A.Kind == RecordedAccess::How::Scattered && L.contains(A.Before);
        }))
      return;
    BasicBlock *Before = preheader(L);
    if (!Before)
      return;
    formLCSSARecursively(L, DT, &LI, &SE);
    Result.Loops.push_back({Before, L.getHeader(), {}});
    append_range(Result.Loops.back().Blocks, L.blocks());
    for (const BasicBlock *Block : L.blocks())
      Versioned += Block->size();
  }

  bool mayBeCloned(const Loop &L) const {
    size_t Instructions = Versioned;
    for (BasicBlock *Block : L.blocks()) {
      Instructions += Block->size();
      if (Block->hasAddressTaken() || Block->isEHPad() ||
          !(isBranch(*Block->getTerminator()) || isa<SwitchInst>(Block->getTerminator())) ||
          any_of(successors(Block), [](const BasicBlock *To) { return To->isEHPad(); }))
        return false;
    }
    return Instructions <= MaxVersionedOfFunction &&
           Instructions - Versioned <= MaxVersionedInstructions && L.isSafeToClone();
  }

  /// Drops the loops with a value that code outside needs but does not use yet.
  void dropReachedInto() {
    DenseMap<const BasicBlock *, size_t> LoopOf;
    for (auto [I, L] : enumerate(Result.Loops))
      for (const BasicBlock *Block : L.Blocks)
        LoopOf[Block] = I + 1;
    DenseSet<size_t> Reached;
    const auto Needs = [&](const Instruction *At, const Value *V) {
      if (const auto *I = dyn_cast_or_null<Instruction>(V))
        if (const size_t Of = LoopOf.lookup(I->getParent()); Of != LoopOf.lookup(At->getParent()))
          Reached.insert(Of);
    };
    for (const RecordedAccess &A : Result.Accesses) {
      Needs(A.Before, A.Pointer);
      Needs(A.Before, A.Mask);
    }
    for (const auto *Walks : {&Result.Walks, &Result.Blocks})
      for (const RecordedWalk &W : *Walks) {
        Needs(W.Before, W.BackedgesTaken);
        for (const RecordedWalk::Reference &R : W.References) {
          Needs(W.Before, R.Start);
          Needs(W.Before, R.Stride);
        }
      }
    size_t I = 0;
    erase_if(Result.Loops, [&](const RecordedLoop &) { return Reached.count(++I) != 0; });
  }

  Function &F;
  const DataLayout &DL;
  LoopInfo &LI;
  DominatorTree &DT;
  ScalarEvolution &SE;
  DenseSet<const Loop *> Calling; ///< loops with calls; null: the function
  unsigned Calls = 0;             ///< of the block, before the current instruction
  size_t Versioned = 0;           ///< instructions that have versions
  std::vector<Leader> Leaders;    ///< in an order in which definitions come first
  TracedAccesses Result;
};

} // namespace

TracedAccesses tracedAccesses(Function &F, FunctionAnalysisManager &FAM) {
  return Finder(F, FAM).run();
}

} // namespace smalloc
