//===- PromotionPoints.cpp - where a program may promote its objects --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides where the program calls the runtime to promote an object (move it to superpages) before a
// loop nest walks it: in the preheader of the outermost loop of a profitable nest. If the trip count
// of the nest is unknown, the call runs once per object, and there is none before a single loop over
// an object of another unit. If the object's pointer is loaded inside the nest, the call stands
// after that load, before the inner loops. The allocator cannot do this itself: a program that
// allocates, initialises and then computes does not call it again. PromotionGuards.h decides what
// the call costs when there is nothing to promote.
//===----------------------------------------------------------------------===//
#include "passes/ir/LlvmVersions.h"
#include "passes/ir/Preheaders.h"
#include "passes/rewrite/PromotionGuards.h"
#include "passes/rewrite/SiteRewriter.h"
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
/// Levels of a nest that are multiplied. Nobody lives to see a product that does not fit 64 bits; an inner loop that does not run can
/// have a count below zero, modulo 2^64, which the runtime takes for none. What is wrong is a credit, no result: so nothing is
/// clamped, which would take as many instructions again.
constexpr unsigned MaxLevels = 3;

/// Returns at once unless some object waits for promotion. PromotionGuards takes its test into the callers, in the end.
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

/// Pointers that are merged in loops: so many are looked at to find the one that they start from.
constexpr unsigned MaxMerged = 8;

/// Where the object of \p N starts, or where a walk through pointers goes on: null if that is not known.
Value *baseOf(const ProfitableNest &N, ScalarEvolution &SE) {
  auto *Unknown = dyn_cast<SCEVUnknown>(SE.getPointerBase(SE.getSCEV(N.Reference.Pointer)));
  if (!Unknown)
    return nullptr;
  // A place within one array that is picked anew each time: the array is meant.
  SmallVector<const Value *, 4> From;
  if (isa<PHINode>(Unknown->getValue()))
    getUnderlyingObjects(Unknown->getValue(), From, nullptr, MaxMerged);
  return From.size() == 1 ? const_cast<Value *>(From[0]) : Unknown->getValue();
}

/// The object's pointer, known before the loop: the base itself, or a load that the loop surely executes first thing, so
/// that a copy of it may stand before. Null if there is none.
Value *knownBefore(const ProfitableNest &N, Value *V, Instruction *At, const DominatorTree &DT) {
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

/// The outermost loop of \p N before which \p Base is known. A field that an outer loop loads in a
/// branch of its body is known before the loops that follow; a lone one of these is no nest.
const Loop *enteredWith(const ProfitableNest &N, const Value *Base, const DominatorTree &DT) {
  auto *I = dyn_cast<Instruction>(Base);
  if (!I || !N.Outermost->contains(I) || I->getParent() == N.Outermost->getHeader())
    return N.Outermost;
  for (const LoopLevel &L : reverse(N.Reference.Levels))
    if (L.L && !L.L->isInnermost() && !L.L->contains(I) && DT.dominates(I, L.L->getHeader()))
      return L.L;
  return N.Outermost;
}

/// Iterations of \p L, an I64, if they are known before \p Of; else null: at least one.
const SCEV *tripsOf(const LoopLevel &L, const Loop &Of, Type *I64, ScalarEvolution &SE) {
  const SCEV *Count = SE.getBackedgeTakenCount(L.L);
  const bool Unknown = isa<SCEVCouldNotCompute>(Count);
  if (Unknown && !getLoopEstimatedTripCount(const_cast<Loop *>(L.L)))
    return nullptr; // ends early: what is promoted must have been earned
  if (L.Trip)
    return SE.getConstant(I64, *L.Trip);
  if (Unknown || SE.getTypeSizeInBits(Count->getType()) > 64 || !SE.isLoopInvariant(Count, &Of))
    return nullptr;
  return SE.getAddExpr(SE.getNoopOrZeroExtend(Count, I64), SE.getOne(I64));
}

/// Accesses of the nest from \p Of on, as far as counts are known before it.
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

/// \p Accesses as a value of the preheader; 0 when some count is not known there.
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

/// Steps that a walk through pointers of unknown length is taken to make.
constexpr uint64_t AssumedWalk = 16;

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

/// Does \p Accesses say no more than that there are some?
bool isGuess(const SCEV *Accesses) {
  auto *Known = dyn_cast<SCEVConstant>(Accesses);
  return Known && Known->getAPInt().ule(AssumedWalk);
}

/// One loop that picks here and there in an object of other units, who knows how often: as a rule the probe of a table,
/// once or twice. Its point would cost about what it is worth.
bool isLoneProbe(const ProfitableNest &N) { return N.Foreign && N.Outermost->isInnermost(); }

/// The points of a function that only guess how much follows: one an object is enough where it is passed on the way to
/// another, as often.
class GuessedPoints {
public:
  /// Is \p Object asked for before \p Block, as often as that runs? From now on it is.
  bool covered(Value *Object, BasicBlock &Block, ScalarEvolution &SE, const DominatorTree &DT,
               const LoopInfo &LI) {
    auto *Load = dyn_cast<LoadInst>(Object); // again from where it was before, as a rule
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
  // It changes which pages back the memory, never what the memory holds.
  Call->setMemoryEffects(MemoryEffects::inaccessibleMemOnly());
  Call->setDoesNotThrow();
  if (!Of.isInnermost())
    Call->addFnAttr(Attribute::get(Call->getContext(), BeforeNestAttr));
  setNotCaptured(*Call, 0);
  if (DebugLoc Start = N.Outermost->getStartLoc())
    Call->setDebugLoc(Start);
}

} // namespace

/// Scalar evolution that was forgotten to spare memory is forgotten again.
void insertPromotionPoints(ArrayRef<ProfitableNest> Nests, FunctionAnalysisManager &FAM,
                           function_ref<void(Function &)> Changes) {
  DenseSet<std::pair<const Loop *, Value *>> Done;
  GuessedPoints Guessed;
  Function *In = nullptr;
  bool WasKnown = false;
  auto Leave = [&] {
    Guessed = GuessedPoints();
    if (!In || WasKnown)
      return;
    PreservedAnalyses Rest = PreservedAnalyses::all();
    Rest.abandon<ScalarEvolutionAnalysis>();
    FAM.invalidate(*In, Rest);
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
    // A walk through pointers starts from one that is known before its own loop, not before the outermost.
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
