//===- FillRanges.cpp - ranges that loops fill ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/points/FillRanges.h"
#include "passes/fills/ScatteredFill.h"
#include "passes/ir/LlvmVersions.h"
#include "passes/points/KnownFields.h"
#include "llvm/Analysis/Loads.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace smalloc {
namespace {

/// Most bytes of unwritten fields or elements between two written ones. The fill then still touches
/// every page.
constexpr uint64_t MostGapBytes = 256;

/// Most pointers that an array of them may have for rangeOfEach().
constexpr uint64_t MostPointers = 256;

/// True if the instruction may end the function, or may write a pointer.
bool mayEndOrWritePointer(const Instruction &I) {
  auto *Store = dyn_cast<StoreInst>(&I);
  return !isGuaranteedToTransferExecutionToSuccessor(&I) ||
         (Store ? Store->getValueOperand()->getType()->isPtrOrPtrVectorTy() : I.mayWriteToMemory());
}

/// True if the pointers that the loop reads may be read before it: each iteration ends at the
/// latch, and none ends the function or writes a pointer.
bool readsKnownPointers(const Loop &L) {
  return L.getLoopLatch() && L.getExitingBlock() == L.getLoopLatch() &&
         none_of(L.blocks(),
                 [](const BasicBlock *Block) { return any_of(*Block, mayEndOrWritePointer); });
}

/// Returns the bytes from one element that a store may choose to the next, as far as \p Offset
/// shows it. The result is at least \p Own, the bytes of one store.
uint64_t strideOf(const SCEV *Offset, uint64_t Own) {
  uint64_t Stride = Own;
  const auto Look = [&](const SCEV *S) {
    auto *Product = dyn_cast<SCEVMulExpr>(S);
    auto *Factor = Product ? dyn_cast<SCEVConstant>(Product->getOperand(0)) : nullptr;
    if (Factor && Factor->getAPInt().isStrictlyPositive() && Factor->getAPInt().ule(MostGapBytes))
      Stride = std::max(Stride, Factor->getAPInt().getZExtValue());
  };
  Look(Offset);
  if (auto *Sum = dyn_cast<SCEVAddExpr>(Offset))
    for (const SCEV *Part : Sum->operands())
      Look(Part);
  return Stride;
}

/// Returns the iterations that follow from the backedge-taken count \p Count, 64 bits wide; null if
/// it is unknown.
const SCEV *allOf(const SCEV *Count, ScalarEvolution &SE) {
  if (isa<SCEVCouldNotCompute>(Count) || SE.getTypeSizeInBits(Count->getType()) > 64)
    return nullptr;
  Type *Wide = Type::getInt64Ty(Count->getType()->getContext());
  return SE.getAddExpr(SE.getNoopOrZeroExtend(Count, Wide), SE.getOne(Wide));
}

/// True for a negative constant, and for one times other values, which are probably positive.
bool probablyNegative(const SCEV *S) {
  auto *Product = dyn_cast<SCEVMulExpr>(S);
  auto *Factor = dyn_cast<SCEVConstant>(Product ? Product->getOperand(0) : S);
  return Factor && Factor->getAPInt().isNegative();
}

/// True if the loop reads what the store overwrites. Updates (histograms) often return to few
/// places.
bool updates(const LoopReference &R, const Loop &L) {
  return any_of(R.Pointer->users(), [&](const User *U) {
    auto *Load = dyn_cast<LoadInst>(U);
    return Load && Load->getPointerOperand() == R.Pointer && L.contains(Load);
  });
}

} // namespace

/// Returns the iterations of the loop; null if they are not known before it.
const SCEV *FillRanges::tripsOf(const Loop &L) const {
  return allOf(SE.getBackedgeTakenCount(&L), SE);
}

/// Returns the iterations of the loop, or an upper bound if an exception or a break may leave it
/// early. An upper bound is enough: memory that the loop does not reach is not touched, so its
/// superpages take no memory.
const SCEV *FillRanges::mostTripsOf(const Loop &L) const {
  BasicBlock *Latch = L.getLoopLatch();
  const SCEV *Exact = tripsOf(L);
  return Exact || !Latch || !L.isLoopExiting(Latch) ? Exact : allOf(SE.getExitCount(&L, Latch), SE);
}

/// True if \p Base is the same in the whole loop. A field that the loop loads anew may also be
/// loaded before it.
bool FillRanges::isKnownBefore(Value *Base, const Loop &L) const {
  if (L.isLoopInvariant(Base))
    return true;
  auto *Load = dyn_cast<LoadInst>(Base);
  const std::optional<Field> Place = Load ? fieldBehind(Load) : std::nullopt;
  return Place && L.isLoopInvariant(Place->Of) &&
         isReadableAt(*Load, L.getHeader()->getTerminator(), &DT);
}

FillRange FillRanges::of(const LoopReference &R) const {
  for (const FillRange &Known : {orderedRange(R), rangeOfEach(R)})
    if (Known.Of)
      // An update in a nest, as of a transform in place, changes what an earlier loop has filled.
      // Its point would run once per iteration of the outer loops, and find the range touched.
      return Known.Of->getParentLoop() && updates(R, *Known.Of) ? FillRange() : Known;
  return scatteredRange(R);
}

/// Extends the range \p Known, of which a store in \p Block writes \p Bytes at a time, by \p Trips
/// iterations of the loop of \p Rec, its Offset. False: they do not extend it.
bool FillRanges::extend(FillRange &Known, const SCEVAddRecExpr &Rec, const SCEV *Trips,
                        const BasicBlock &Block, uint64_t Bytes) const {
  const Loop *L = Rec.getLoop();
  Type *Wide = Type::getInt64Ty(F.getContext());
  const BasicBlock *Latch = L->getLoopLatch();
  // A store under a condition does not run in each iteration; an inner loop has its own guard.
  if (!Trips || !Rec.isAffine() || !Latch ||
      (LI.getLoopFor(&Block) == L && !DT.dominates(&Block, Latch)) ||
      !SE.isLoopInvariant(Known.Written, L) || !SE.isLoopInvariant(Known.Bytes, L))
    return false;
  const SCEV *Step = SE.getTruncateOrSignExtend(Rec.getStepRecurrence(SE), Wide);
  const SCEV *Before = SE.getMinusSCEV(Trips, SE.getOne(Wide));
  Known.Offset = Rec.getStart();
  if (probablyNegative(Step)) {
    Known.Offset = SE.getAddExpr(Known.Offset, SE.getMulExpr(Step, Before));
    Step = SE.getNegativeSCEV(Step);
  }
  if (auto *Gap = dyn_cast<SCEVConstant>(Step);
      !Known.Of && Gap && Gap->getAPInt().ule(MostGapBytes) && Gap->getAPInt().ugt(Bytes))
    Known.Written = Known.Bytes = Step;
  Known.Written = SE.getMulExpr(Known.Written, Trips);
  Known.Bytes = SE.getAddExpr(Known.Bytes, SE.getMulExpr(Step, Before));
  Known.Of = L;
  return true;
}

/// Returns the range that a store walks in steps. The order of the steps need not be that of the
/// nested loops.
FillRange FillRanges::orderedRange(const LoopReference &R) const {
  const SCEV *Address = SE.getSCEV(R.Pointer);
  auto *Base = dyn_cast<SCEVUnknown>(SE.getPointerBase(Address));
  if (!Base)
    return {};
  const SCEV *Once = SE.getConstant(Type::getInt64Ty(F.getContext()), R.Bytes);
  FillRange Known{nullptr, Base->getValue(), SE.removePointerBase(Address), Once, Once};
  while (auto *Rec = dyn_cast<SCEVAddRecExpr>(Known.Offset))
    if (!isKnownBefore(Base->getValue(), *Rec->getLoop()) ||
        !extend(Known, *Rec, mostTripsOf(*Rec->getLoop()), *R.Access->getParent(), R.Bytes))
      break;
  return extendedByFields(Known, *R.Access->getParent(), R.Bytes);
}

/// Extends the range by loops that load the pointer, the bounds or the strides anew in each
/// iteration (KnownFields.h). The point stands before the outermost loop before which the fields
/// can be loaded; the loops around it are in Around.
FillRange FillRanges::extendedByFields(const FillRange &Known, const BasicBlock &Block,
                                       uint64_t Bytes) const {
  KnownFields Fields(F, SE, DT, LI);
  FillRange Last = Known;
  const Loop *L = Known.Of ? Known.Of->getParentLoop() : LI.getLoopFor(&Block);
  for (; L; L = L->getParentLoop()) {
    FillRange Next = Last;
    if (!Fields.allKnown(*L, {Next.Offset, Next.Bytes, Next.Written}, Next.Base))
      break;
    const SCEV *Trips = mostTripsOf(*L);
    if (!Trips)
      Trips = Fields.mostTripsOf(*L);
    for (const SCEV **Part : {&Next.Offset, &Next.Bytes, &Next.Written})
      *Part = Fields.withPlaceholders(*Part);
    auto *Rec = dyn_cast<SCEVAddRecExpr>(Next.Offset);
    if (!Rec || Rec->getLoop() != L || !extend(Next, *Rec, Trips, Block, Bytes))
      break;
    if (!Last.Around.empty() || !Fields.areReadableBefore(*L)) {
      if (!Last.Of || !Fields.areReadableBefore(*Last.Of))
        break;
      Next.Of = Last.Of;
      Next.Around.push_back(L);
    }
    Last = Next;
  }
  for (const SCEV **Part : {&Last.Offset, &Last.Bytes, &Last.Written})
    *Part = Fields.withValues(*Part);
  Last.Fields = Fields.valuesIn({Last.Offset, Last.Bytes, Last.Written});
  return Last;
}

/// Returns the ranges that a nest fills side by side, where its innermost loop goes over an array
/// of pointers: a[k][i] for all k, then for the next i. The nest surely reads all the pointers.
FillRange FillRanges::rangeOfEach(const LoopReference &R) const {
  const BasicBlock *Block = R.Access->getParent();
  const Loop *Inner = LI.getLoopFor(Block), *Outer = Inner ? Inner->getParentLoop() : nullptr;
  const BasicBlock *Latch = Inner ? Inner->getLoopLatch() : nullptr;
  if (!Outer || !Latch || !DT.dominates(Block, Latch))
    return {};
  const SCEV *Address = SE.getSCEV(R.Pointer);
  auto *Base = dyn_cast<SCEVUnknown>(SE.getPointerBase(Address));
  auto *Load = Base ? dyn_cast<LoadInst>(Base->getValue()) : nullptr;
  if (!Load || !Load->isSimple() || !Inner->contains(Load) ||
      !DT.dominates(Load->getParent(), Latch))
    return {};
  auto *Place = dyn_cast<SCEVAddRecExpr>(SE.getSCEV(Load->getPointerOperand()));
  const uint64_t Count = SE.getSmallConstantTripCount(Inner);
  if (!Place || Place->getLoop() != Inner || Count < 2 || Count > MostPointers ||
      Place->getStepRecurrence(SE) !=
          SE.getConstant(Type::getInt64Ty(F.getContext()), Load->getDataLayout().getPointerSize()))
    return {};
  const SCEV *Once = SE.getConstant(Type::getInt64Ty(F.getContext()), R.Bytes);
  FillRange Known{nullptr,           Load, SE.removePointerBase(Address), Once, Once,
                  Place->getStart(), Count};
  const Loop *Reached = Inner;
  while (auto *Rec = dyn_cast<SCEVAddRecExpr>(Known.Offset)) {
    const Loop *L = Rec->getLoop();
    if (L != Reached->getParentLoop() || !readsKnownPointers(*L) ||
        !DT.dominates(Reached->getHeader(), L->getLoopLatch()) ||
        !SE.isLoopInvariant(Known.Pointers, L) ||
        !extend(Known, *Rec, mostTripsOf(*L), *Block, R.Bytes))
      break;
    Reached = L;
  }
  return Known;
}

/// Returns the whole object whose elements the loops write in no order. They must store as many
/// bytes as the object has. If a mask or a remainder spreads the stores, four stores per page
/// suffice.
FillRange FillRanges::scatteredRange(const LoopReference &R) const {
  FillRange Known;
  const LoopLevel *Moves = R.varying();
  const Loop *Inner = LI.getLoopFor(R.Access->getParent());
  const BasicBlock *Latch = Inner ? Inner->getLoopLatch() : nullptr;
  if (!Moves || !isUnpredictable(Moves->Kind) || !Latch || Moves->L != Inner ||
      !DT.dominates(R.Access->getParent(), Latch) || updates(R, *Inner))
    return Known;
  const SCEV *Address = SE.getSCEV(R.Pointer);
  auto *Base = dyn_cast<SCEVUnknown>(SE.getPointerBase(Address));
  if (!Base)
    return Known;
  Type *Wide = Type::getInt64Ty(F.getContext());
  const uint64_t Stride = strideOf(SE.removePointerBase(Address), R.Bytes);
  const SCEV *Written = SE.getConstant(
      Wide, spreadsByRemainder(R.Pointer, SE) ? std::max(Stride, ScatteredBytesPerStore) : Stride);
  for (const LoopLevel &Level : R.Levels) {
    if (!isUnpredictable(Level.Kind))
      break; // writes the same places again
    const SCEV *Trips = Level.L ? tripsOf(*Level.L) : nullptr;
    if (!Trips || !isKnownBefore(Base->getValue(), *Level.L) ||
        !SE.isLoopInvariant(Written, Level.L))
      break;
    Written = SE.getMulExpr(Written, Trips);
    Known = {Level.L, Base->getValue(), SE.getZero(Wide), nullptr, Written};
  }
  return Known;
}

} // namespace smalloc
