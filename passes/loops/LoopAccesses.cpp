//===- LoopAccesses.cpp - the memory accesses of loops ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/loops/LoopAccesses.h"
#include "passes/loops/CallersLoops.h"
#include "passes/loops/LoopWrites.h"
#include "passes/loops/Neighbours.h"
#include "passes/loops/TripCounts.h"
#include "passes/pointers/MemoryTouches.h"
#include "passes/sites/AllocationSites.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/MemoryBuiltins.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace smalloc {
namespace {

/// True if \p Root is an object that each call of its function allocates anew.
bool isFresh(const Value &Root, const LoopInfo &LI) {
  const auto *Call = dyn_cast<CallBase>(&Root);
  return Call && (Call->hasFnAttr(SiteIdAttr) || isNoAliasCall(Call)) &&
         !getReallocatedOperand(Call) && !LI.getLoopFor(Call->getParent());
}

bool picksAtRandom(Instruction *I) {
  return any_of(touchesOf(*I), [](const Touch &T) { return computedIndex(T.Pointer); });
}

/// Corrects the strides of outer loops around a triangular loop. An outer loop moves the address
/// from the inner loop's start or from its end. The shorter of both steps shows which pages the
/// outer loop revisits.
void startOrEnd(LoopReference &R, TripCounts &Trips, ScalarEvolution &SE) {
  for (const LoopLevel &Inner : R.Levels) {
    if (!Inner.TripOf || Inner.Kind != Motion::Constant)
      continue;
    auto *Count = Inner.L ? Trips.countOf(Inner.L) : nullptr;
    while (auto *Cast = dyn_cast_if_present<SCEVIntegralCastExpr>(Count))
      Count = Cast->getOperand();
    for (LoopLevel &Outer : R.Levels) {
      if (!Outer.L || Outer.L == Inner.L || !Outer.L->contains(Inner.L) || !Count ||
          isUnpredictable(Outer.Kind) || Outer.Kind == Motion::Symbolic)
        continue;
      LoopLevel Longer = motionOf(Count, Outer.L, SE);
      if (Longer.Kind != Motion::Constant)
        continue;
      int64_t AtEnd;
      if (MulOverflow(Longer.StrideBytes, Inner.StrideBytes, AtEnd) ||
          AddOverflow(AtEnd, Outer.StrideBytes, AtEnd))
        continue;
      if (std::abs(AtEnd) < std::abs(Outer.StrideBytes)) {
        Outer.StrideBytes = AtEnd;
        Outer.Kind = AtEnd ? Motion::Constant : Motion::None;
      }
    }
  }
}

/// Returns the instructions of \p F that access memory, those of a loop before those that follow
/// it. The blocks of a function may be in any order.
std::vector<Instruction *> inOrder(Function &F) {
  std::vector<Instruction *> Order;
  for (BasicBlock *Block : ReversePostOrderTraversal<Function *>(&F))
    for (Instruction &I : *Block)
      if (I.mayReadOrWriteMemory())
        Order.push_back(&I);
  return Order;
}

/// Returns the distance of the lowest address from the object's start; 0 if it is not known.
uint64_t startBytes(const LoopReference &R, const SCEV *Address) {
  const SCEV *Start = Address;
  while (auto *Walk = dyn_cast<SCEVAddRecExpr>(Start))
    Start = Walk->getStart();
  // Without a sum the address is the start itself. A distance that varies is not known.
  auto *Sum = dyn_cast<SCEVAddExpr>(Start);
  auto *From =
      Sum && Sum->getNumOperands() == 2 ? dyn_cast<SCEVConstant>(Sum->getOperand(0)) : nullptr;
  if (!From || From->getAPInt().getSignificantBits() > 62)
    return 0;
  double Lowest = static_cast<double>(From->getAPInt().getSExtValue());
  for (const LoopLevel &L : R.Levels)
    if (L.Kind == Motion::Constant && L.StrideBytes < 0)
      Lowest += static_cast<double>(L.StrideBytes) * (static_cast<double>(L.Trip.value_or(1)) - 1);
  return Lowest > 0 ? static_cast<uint64_t>(Lowest) : 0;
}

/// True if \p Load loads its pointer from a table at an index that does not run in order. The
/// program then revisits the pointer's object as often as the table's entry. (A table walked in
/// order gives each pointer once.)
bool isDrawn(LoadInst &Load, MotionQuery &Moves, ScalarEvolution &SE, unsigned Depth = 0) {
  if (Depth > 6 || !SE.isSCEVable(Load.getPointerOperandType()))
    return false;
  const SCEV *At = SE.getSCEV(Load.getPointerOperand());
  const LoopLevel Index = Moves.of(SE.removePointerBase(At));
  if (isUnpredictable(Index.Kind) && Index.Kind != Motion::Chase)
    return true;
  auto *Base = dyn_cast<SCEVUnknown>(SE.getPointerBase(At));
  auto *From = Base ? dyn_cast<LoadInst>(Base->getValue()) : nullptr;
  return From && Moves.loop()->contains(From) && isDrawn(*From, Moves, SE, Depth + 1);
}

/// Marks the references whose objects \p F prefetches. The prefetch is in a loop that contains the
/// reference, and has the same base or, for a chase, a pointer loaded through that base.
void markPrefetched(Function &F, LoopInfo &LI, ScalarEvolution &SE,
                    std::vector<LoopReference> &References) {
  for (Instruction &I : instructions(F)) {
    auto *Call = dyn_cast<IntrinsicInst>(&I);
    if (!Call || Call->getIntrinsicID() != Intrinsic::prefetch)
      continue;
    const Loop *In = LI.getLoopFor(I.getParent());
    if (!In || !SE.isSCEVable(Call->getArgOperand(0)->getType()))
      continue;
    const SCEV *Ahead = SE.getSCEV(Call->getArgOperand(0)), *Base = SE.getPointerBase(Ahead);
    const SCEV *Through = nullptr;
    if (auto *U = dyn_cast<SCEVUnknown>(Base))
      if (auto *Load = dyn_cast<LoadInst>(U->getValue()); Load && In->contains(Load))
        Through = SE.getPointerBase(SE.getSCEV(Load->getPointerOperand()));
    const Motion Kind = motionOf(Ahead, In, SE).Kind;
    for (LoopReference &R : References) {
      if (!In->contains(R.Access) || !SE.isSCEVable(R.Pointer->getType()))
        continue;
      const SCEV *Own = SE.getPointerBase(SE.getSCEV(R.Pointer));
      const LoopLevel *Moves = R.varying();
      R.Prefetched |= Moves && ((Own == Base && (Moves->Kind == Kind || isUnpredictable(Kind))) ||
                                (Own == Through && Moves->Kind == Motion::Chase));
    }
  }
}

/// Collects the references of one function.
class ReferenceCollector {
public:
  ReferenceCollector(Function &F, FunctionAnalysisManager &FAM,
                     const SmallPtrSetImpl<const Argument *> &Chased, bool CalledInLoop,
                     uint64_t PageBytes)
      : LI(FAM.getResult<LoopAnalysis>(F)), SE(FAM.getResult<ScalarEvolutionAnalysis>(F)),
        Chased(Chased), CalledInLoop(CalledInLoop), Trips(SE), Writes(F, FAM),
        Near(References, PageBytes, SE) {}

  void add(Instruction &I, const Touch &T);
  std::vector<LoopReference> take(Function &F) {
    markPrefetched(F, LI, SE, References);
    return std::move(References);
  }

private:
  /// The address of a reference in the function's loops.
  struct Walked {
    const Loop *Inner;   ///< null: no loop contains the access
    const SCEV *Address; ///< null: scalar evolution does not know the pointer's type
    bool IsChased;       ///< a recursion loads the pointer through its argument
  };
  MotionQuery &motionIn(const Loop *L);
  bool walksThroughPointers(const Walked &W);
  void addGather(LoopReference &R, const Loop *Inner);
  void addWalk(LoopReference &R, const Touch &T, const Walked &W);
  LoopLevel levelOf(const Loop *L, const SCEV *Address);
  void addSurrounding(LoopReference &R, const Walked &W);

  std::vector<LoopReference> References;
  LoopInfo &LI;
  ScalarEvolution &SE;
  const SmallPtrSetImpl<const Argument *> &Chased;
  bool CalledInLoop;
  TripCounts Trips;
  LoopWrites Writes;
  DenseMap<const Loop *, std::unique_ptr<MotionQuery>> Queries;
  Neighbours Near;
};

void ReferenceCollector::add(Instruction &I, const Touch &T) {
  Value *Pointer = T.Pointer;
  const Value *Root = getUnderlyingObject(Pointer);
  if (isa<AllocaInst>(Root) || Pointer->getType()->getScalarType()->getPointerAddressSpace() != 0)
    return;
  LoopReference R;
  R.Access = &I;
  R.Pointer = Pointer;
  R.Bytes = T.Bytes;
  R.Writes = T.Writes;
  const Loop *Inner = LI.getLoopFor(I.getParent());
  const auto *Passed = dyn_cast<Argument>(Root);
  const bool IsChased = Passed && Chased.contains(Passed);
  if (!Inner && !IsChased && !computedIndex(Pointer)) // not repeated, or in an unknown way
    return;
  // Skips an object allocated by this call outside of loops: the next call has another object.
  if (!Inner && isFresh(*Root, LI))
    return;
  const SCEV *Address = SE.isSCEVable(Pointer->getType()) ? SE.getSCEV(Pointer) : nullptr;
  if (T.Gathers)
    addGather(R, Inner);
  else if (Address)
    addWalk(R, T, {Inner, Address, IsChased});
}

MotionQuery &ReferenceCollector::motionIn(const Loop *L) {
  auto &Query = Queries[L];
  if (!Query)
    Query = std::make_unique<MotionQuery>(L, SE, &Writes);
  return *Query;
}

/// Adds \p R, which accesses a vector of addresses: the innermost loop gathers, however the base
/// moves.
void ReferenceCollector::addGather(LoopReference &R, const Loop *Inner) {
  for (const Loop *L = Inner; L; L = L->getParentLoop()) {
    LoopLevel Level = Trips.of(L);
    Level.L = L;
    Level.Kind = L == Inner ? Motion::Gather : Motion::None;
    R.Levels.push_back(Level);
    R.Outermost = L;
  }
  if (!R.Levels.empty())
    References.push_back(std::move(R));
}

void ReferenceCollector::addWalk(LoopReference &R, const Touch &T, const Walked &W) {
  if (W.Inner) {
    R.ThroughPointers = walksThroughPointers(W);
    Near.compare(R, W.Inner, W.Address);
    if (R.Repeated && !R.Writes)
      return;
  }
  for (const Loop *L = W.Inner; L; L = L->getParentLoop()) {
    R.Levels.push_back(levelOf(L, W.Address));
    R.Outermost = L;
  }
  if (T.Walks && W.Inner &&
      none_of(R.Levels, [](const LoopLevel &L) { return isUnpredictable(L.Kind); })) {
    LoopLevel Copy;
    Copy.Kind = Motion::Constant;
    Copy.StrideBytes = static_cast<int64_t>(T.Bytes);
    Copy.OfCopy = true;
    R.Levels.insert(R.Levels.begin(), Copy);
  }
  startOrEnd(R, Trips, SE);
  R.StartBytes = startBytes(R, W.Address);
  addSurrounding(R, W);
  if (R.Levels.empty())
    return;
  if (W.Inner)
    Near.add(W.Inner, W.Address);
  References.push_back(std::move(R));
}

bool ReferenceCollector::walksThroughPointers(const Walked &W) {
  auto *Base = dyn_cast<SCEVUnknown>(SE.getPointerBase(W.Address));
  auto *Load = Base ? dyn_cast<LoadInst>(Base->getValue()) : nullptr;
  return Load && W.Inner->contains(Load) && !isDrawn(*Load, motionIn(W.Inner), SE);
}

/// Returns how \p Address moves with \p L, and how often \p L runs.
LoopLevel ReferenceCollector::levelOf(const Loop *L, const SCEV *Address) {
  LoopLevel Level = motionIn(L).of(Address);
  // An address inside a block allocated in this very iteration: fresh blocks follow each other.
  if (auto *Base = dyn_cast<SCEVUnknown>(SE.getPointerBase(Address));
      Base && isUnpredictable(Level.Kind))
    if (auto *Call = dyn_cast<CallBase>(Base->getValue());
        Call && Call->hasFnAttr(SiteIdAttr) && L->contains(Call))
      Level.Kind = Motion::Constant, Level.StrideBytes = 64;
  // An index loaded through itself within one array is a gather, since the object stays the same.
  if (Level.Kind == Motion::Chase && SE.isLoopInvariant(SE.getPointerBase(Address), L))
    Level.Kind = Motion::Gather;
  LoopLevel Counted = Trips.of(L);
  Counted.L = L;
  Counted.Kind = Level.Kind;
  Counted.StrideBytes = Level.StrideBytes;
  return Counted;
}

/// Adds a level to \p R for a recursion or a caller's loop.
void ReferenceCollector::addSurrounding(LoopReference &R, const Walked &W) {
  LoopLevel Around;
  if (W.IsChased) {
    Around.Kind = Motion::Chase;
  } else if (!W.Inner) { // the address has a computed index
    Around.Kind = Motion::Irregular;
    R.Assumed = !CalledInLoop;
  } else if (!CalledInLoop || R.Levels.empty()) {
    return;
  }
  R.Levels.push_back(Around);
}

} // namespace

std::vector<LoopReference> loopReferences(Function &F, FunctionAnalysisManager &FAM,
                                          bool CalledInLoop, uint64_t PageBytes) {
  const SmallPtrSet<const Argument *, 4> Chased = chasedArguments(F);
  const std::vector<Instruction *> Order = inOrder(F);
  // True for most small functions.
  if (FAM.getResult<LoopAnalysis>(F).empty() && Chased.empty() && none_of(Order, picksAtRandom))
    return {};
  ReferenceCollector Collector(F, FAM, Chased, CalledInLoop, PageBytes);
  for (Instruction *I : Order)
    for (const Touch &T : touchesOf(*I))
      Collector.add(*I, T);
  return Collector.take(F);
}

} // namespace smalloc
