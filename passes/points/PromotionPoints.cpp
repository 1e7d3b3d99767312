//===- PromotionPoints.cpp - calls that promote objects -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inserts calls of the runtime that promote an object (move it to superpages) before a loop nest
// walks it. The call stands in the preheader of the outermost loop of a profitable nest. If the
// trip count of the nest is unknown, the call runs once per object. A single loop over an object of
// another unit then gets no call. If the nest itself loads the object's pointer, the call stands
// after that load, before the inner loops. The allocator cannot promote the object by itself: a
// program that allocates, initialises and then computes does not call it again. PromotionGuards.h
// keeps the call cheap when there is nothing to promote.
//===----------------------------------------------------------------------===//
#include "passes/points/PromotionPoints.h"
#include "passes/ir/LlvmVersions.h"
#include "passes/ir/Preheaders.h"
#include "passes/points/PointParts.h"
#include "passes/points/PromotionGuards.h"
#include "passes/rewrite/ThunkText.h"
#include "llvm/ADT/PointerIntPair.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace smalloc {
namespace {

/// A nest known to run fewer accesses than this cannot pay for one collapse.
constexpr uint64_t MinAccesses = 1u << 16;
/// Levels of a nest whose trip counts are multiplied. No program runs a product beyond 64 bits. An
/// inner loop that does not run can have a count below zero, modulo 2^64, which the runtime takes
/// for none. A wrong product changes only a credit, never a result. So the product is not clamped,
/// which would double the instructions.
constexpr unsigned MaxLevels = 3;

/// Returns a thunk that returns at once unless an object waits for promotion. PromotionGuards moves
/// its test into the callers at the end.
Function *touchThunk(Module &M) {
  Function *Known = M.getFunction(TouchName);
  if (Known && (!Known->isDeclaration() || isAddedAsText(M)))
    return Known;
  Function *F = hiddenTouch(M, TouchName);
  F->addFnAttr(Attribute::NoInline);
  if (isAddedAsText(M))
    leaveToGuards(*F);
  else
    lookAndCall(*F);
  return F;
}

/// Merged pointers of loops that are searched for their common start.
constexpr unsigned MaxMerged = 8;

/// Returns the start of the object of \p N, or the pointer by which a walk through pointers
/// continues; null if it is unknown.
Value *baseOf(const ProfitableNest &N, ScalarEvolution &SE) {
  auto *Unknown = dyn_cast<SCEVUnknown>(SE.getPointerBase(SE.getSCEV(N.Reference.Pointer)));
  if (!Unknown)
    return nullptr;
  // A place within one array that changes in each iteration stands for the array, unless the
  // array's address has another type.
  SmallVector<const Value *, 4> From;
  if (isa<PHINode>(Unknown->getValue()))
    getUnderlyingObjects(Unknown->getValue(), From, nullptr, MaxMerged);
  return From.size() == 1 && From[0]->getType() == Unknown->getType() ? const_cast<Value *>(From[0])
                                                                      : Unknown->getValue();
}

/// Returns the object's pointer if it is known before the loop: the base itself, or a load that the
/// loop surely executes first, so that a copy of the load may stand before the loop. Returns null
/// otherwise.
Value *knownBefore(const ProfitableNest &N, Value *V, Instruction *At, const DominatorTree &DT) {
  auto *I = dyn_cast<Instruction>(V);
  if (!I)
    return isa<Constant>(V) ? nullptr : V; // the runtime does not promote static arrays
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
  return V;
}

Value *valueBefore(Value *Object, Instruction *At, const DominatorTree &DT) {
  auto *Load = dyn_cast<LoadInst>(Object);
  if (!Load || DT.dominates(Load, At))
    return Object;
  Instruction *Copy = Load->clone();
  Copy->dropUnknownNonDebugMetadata();
  Copy->insertBefore(At->getIterator());
  return Copy;
}

/// Returns the outermost loop of \p N before which \p Base is known. A field that an outer loop
/// loads in a branch of its body is known before the loops that follow. A single loop of these is
/// no nest.
const Loop *enteredWith(const ProfitableNest &N, const Value *Base, const DominatorTree &DT) {
  auto *I = dyn_cast<Instruction>(Base);
  if (!I || !N.Outermost->contains(I) || I->getParent() == N.Outermost->getHeader())
    return N.Outermost;
  for (const LoopLevel &L : reverse(N.Reference.Levels))
    if (L.L && !L.L->isInnermost() && !L.L->contains(I) && DT.dominates(I, L.L->getHeader()))
      return L.L;
  return N.Outermost;
}

/// Returns the iterations of \p L, an I64, if they are known before \p Of. Null stands for at least
/// one.
const SCEV *tripsOf(const LoopLevel &L, const Loop &Of, Type *I64, ScalarEvolution &SE) {
  const SCEV *Count = SE.getBackedgeTakenCount(L.L);
  const bool Unknown = isa<SCEVCouldNotCompute>(Count);
  if (Unknown && !getLoopEstimatedTripCount(const_cast<Loop *>(L.L)))
    return nullptr; // it may exit early, and L.Trip only bounds the accesses that run
  if (L.Trip)
    return SE.getConstant(I64, *L.Trip);
  if (Unknown || SE.getTypeSizeInBits(Count->getType()) > 64 || !SE.isLoopInvariant(Count, &Of))
    return nullptr;
  return SE.getAddExpr(SE.getNoopOrZeroExtend(Count, I64), SE.getOne(I64));
}

/// Returns the accesses of the nest from \p Of inwards, as far as counts are known before it.
const SCEV *accessesOf(const ProfitableNest &N, const Loop &Of, ScalarEvolution &SE) {
  Type *I64 = Type::getInt64Ty(N.F->getContext());
  const SCEV *Total = SE.getOne(I64);
  unsigned Depth = 0;
  for (const LoopLevel &L : N.Reference.Levels) {
    if (!L.L || !Of.contains(L.L) || ++Depth > MaxLevels)
      break;
    if (const SCEV *Trips = tripsOf(L, Of, I64, SE))
      Total = SE.getMulExpr(Total, Trips);
  }
  return Total;
}

/// Returns \p Accesses as a value of the preheader; 0 if a count is not known there.
Value *valueAt(const SCEV *Accesses, Instruction *At, ScalarEvolution &SE) {
  ScevExpander Expander(SE);
  if (!Expander.isSafeToExpandAt(Accesses, At))
    return ConstantInt::get(Accesses->getType(), 0);
  return Expander.expandCodeFor(Accesses, Accesses->getType(), At->getIterator());
}

bool tooShort(const LoopReference &R) {
  uint64_t Accesses = 1;
  for (const LoopLevel &L : R.Levels) {
    if (!L.Trip)
      return false;
    Accesses = SaturatingMultiply(Accesses, *L.Trip);
    if (Accesses >= MinAccesses)
      return false;
  }
  return true;
}

/// Steps assumed for a walk through pointers of unknown length.
constexpr uint64_t AssumedWalk = 16;

/// Returns the loop whose header phi is \p Base, which walks a structure through its pointers.
const Loop *walkOf(const ProfitableNest &N, const Value *Base) {
  auto *Phi = dyn_cast<PHINode>(Base);
  for (const LoopLevel &L : N.Reference.Levels)
    if (Phi && L.L && L.L->getHeader() == Phi->getParent())
      return L.L;
  return nullptr;
}

/// True if the block of \p At already has a point for \p Object, for instance from the compile
/// phase before a link.
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

/// True if \p Accesses only shows that there are some.
bool isGuess(const SCEV *Accesses) {
  auto *Known = dyn_cast<SCEVConstant>(Accesses);
  return Known && Known->getAPInt().ule(AssumedWalk);
}

/// True for a single loop over an object of other units. If its number of accesses is unknown, it
/// usually probes a table once or twice, and a promotion point would cost about what it saves.
bool isLoneProbe(const ProfitableNest &N) { return N.Foreign && N.Outermost->isInnermost(); }

/// The points of a function that only guess how many accesses follow. One point per object is
/// enough if control passes it on the way to another one, equally often.
class GuessedPoints {
public:
  /// True if an earlier point for \p Object runs before \p Block as often as \p Block runs.
  /// Otherwise records \p Block as a point.
  bool covered(Value *Object, BasicBlock &Block, ScalarEvolution &SE, const DominatorTree &DT,
               const LoopInfo &LI) {
    auto *Load = dyn_cast<LoadInst>(Object); // usually loaded again from the same place
    SmallVector<BasicBlock *, 2> &Others =
        Blocks[{SE.getSCEV(Load ? Load->getPointerOperand() : Object), Load != nullptr}];
    for (BasicBlock *Other : Others)
      if (DT.dominates(Other, &Block) && LI.getLoopFor(Other) == LI.getLoopFor(&Block))
        return true;
    Others.push_back(&Block);
    return false;
  }

private:
  DenseMap<PointerIntPair<const SCEV *, 1, bool>, SmallVector<BasicBlock *, 2>> Blocks;
};

void insertTouch(const ProfitableNest &N, const Loop &Of, Instruction *At, Value *Object,
                 Value *Accesses) {
  IRBuilder<> B(At);
  CallInst *Call = B.CreateCall(touchThunk(*N.F->getParent()), {Object, Accesses});
  // The call changes which pages back the memory, never the memory's contents.
  Call->setMemoryEffects(MemoryEffects::inaccessibleMemOnly());
  Call->setDoesNotThrow();
  if (!Of.isInnermost())
    Call->addFnAttr(Attribute::get(Call->getContext(), BeforeNestAttr));
  setNotCaptured(*Call, 0);
  if (DebugLoc Start = N.Outermost->getStartLoc())
    Call->setDebugLoc(Start);
}

} // namespace

void insertPromotionPoints(ArrayRef<ProfitableNest> Nests, FunctionAnalysisManager &FAM,
                           function_ref<void(Function &)> Changes) {
  DenseSet<std::pair<const Loop *, Value *>> Done;
  GuessedPoints Guessed;
  Function *In = nullptr;
  bool WasKnown = false;
  // Discards the scalar evolution of a function again, to save memory, if it was not cached before.
  auto Leave = [&] {
    Guessed = GuessedPoints();
    if (In && !WasKnown)
      forgetEvolution(*In, FAM);
  };
  for (const ProfitableNest &N : Nests) { // one function after the other
    if (N.F != In) {
      Leave();
      In = N.F;
      WasKnown = FAM.getCachedResult<ScalarEvolutionAnalysis>(*In) != nullptr;
    }
    ScalarEvolution &SE = FAM.getResult<ScalarEvolutionAnalysis>(*N.F);
    DominatorTree &DT = FAM.getResult<DominatorTreeAnalysis>(*N.F);
    LoopInfo &LI = FAM.getResult<LoopAnalysis>(*N.F);
    if (!SE.isSCEVable(N.Reference.Pointer->getType()) || tooShort(N.Reference) ||
        N.F->hasAvailableExternallyLinkage())
      continue;
    Value *Base = baseOf(N, SE);
    if (!Base || !Done.insert({N.Outermost, Base}).second)
      continue;
    // A walk through pointers starts from a pointer that is known before its own loop, not before
    // the outermost one.
    const Loop *Walk = walkOf(N, Base);
    const Loop *Of = Walk ? Walk : enteredWith(N, Base, DT);
    if (!Of->getLoopPreheader())
      Changes(*N.F);
    BasicBlock *Before = preheaderOf(Of, *N.F, FAM);
    if (!Before || Before->getTerminator()->isEHPad())
      continue;
    Instruction *At = Before->getTerminator();
    Value *Object =
        Walk ? cast<PHINode>(Base)->getIncomingValueForBlock(Before) : knownBefore(N, Base, At, DT);
    if (!Object || isa<Constant>(Object) || isTouched(At, Object))
      continue;
    const SCEV *Accesses = Walk ? SE.getConstant(Type::getInt64Ty(At->getContext()), AssumedWalk)
                                : accessesOf(N, *Of, SE);
    if (isGuess(Accesses) &&
        ((!Walk && isLoneProbe(N)) || Guessed.covered(Object, *Before, SE, DT, LI)))
      continue;
    Changes(*N.F);
    Value *Pointer = valueBefore(Object, At, DT);
    insertTouch(N, *Of, At, Pointer, valueAt(Accesses, At, SE));
  }
  Leave();
}

} // namespace smalloc
