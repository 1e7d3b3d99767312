//===- FillPoints.cpp - announces ranges before they are filled -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/points/FillPoints.h"
#include "passes/decisions/UnitSites.h"
#include "passes/ir/InstructionCount.h"
#include "passes/ir/LlvmVersions.h"
#include "passes/ir/Preheaders.h"
#include "passes/loops/ScatteredFill.h"
#include "passes/points/FillGuards.h"
#include "passes/points/PointParts.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Analysis/Loads.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"

using namespace llvm;

namespace smalloc {
namespace {

/// Most bytes of unwritten fields or elements between two written ones. The fill then still touches
/// every page.
constexpr uint64_t MostGapBytes = 256;

/// Highest cost of the expressions of a point, in the units of TargetTransformInfo. It excludes
/// divisions.
constexpr unsigned Budget = 40;

/// Most points of a unit: FreePoints, and one more per InstructionsPerPoint instructions. Compiling
/// one point takes the compiler a million instructions, and most loops fill small arrays.
constexpr size_t FreePoints = 10, InstructionsPerPoint = 2000;

/// A range that is about to be written.
struct Range {
  const Loop *Of = nullptr; ///< this loop and its inner loops write the range; null: none
  Value *Base = nullptr;    ///< the first byte of the range is at Base + Offset
  const SCEV *Offset = nullptr;
  const SCEV *Bytes = nullptr;   ///< from the first to the last byte; null: the whole object
  const SCEV *Written = nullptr; ///< lower bound of the bytes written in the range
};

/// Returns the address that \p Load reads, as a pointer and a distance in bytes.
std::pair<Value *, int64_t> fieldOf(LoadInst &Load) {
  const DataLayout &DL = Load.getDataLayout();
  APInt Distance(DL.getIndexTypeSizeInBits(Load.getPointerOperandType()), 0);
  Value *From = Load.getPointerOperand()->stripAndAccumulateConstantOffsets(
      DL, Distance, /*AllowNonInbounds=*/true);
  return {From, Distance.getSExtValue()};
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

class Points {
public:
  Points(FunctionAnalysisManager &FAM, function_ref<void(Function &)> Changes)
      : FAM(FAM), Changes(Changes) {}

  /// Both return true if they inserted a point.
  bool before(const LoopReference &R);
  bool before(const Fill &F);
  void leave();

private:
  void enter(Function &F);
  Range orderedRange(const LoopReference &R);
  Range scatteredRange(const LoopReference &R);
  const SCEV *tripsOf(const Loop &L);
  const SCEV *mostTripsOf(const Loop &L);
  bool isKnownBefore(Value *Base, const Loop &L);
  bool computable(const Range &R, Instruction &At);
  void insert(Instruction &At, Value *Start, Value *Bytes, Value *Written, bool BeforeNest,
              DebugLoc Where);

  FunctionAnalysisManager &FAM;
  function_ref<void(Function &)> Changes;
  Function *In = nullptr;
  bool WasKnown = false; ///< scalar evolution of In was cached before
  ScalarEvolution *SE = nullptr;
  DominatorTree *DT = nullptr;
  LoopInfo *LI = nullptr;
  DenseSet<std::pair<const Loop *, const Value *>> Done;
};

/// Discards the scalar evolution of the function again, to save memory, if it was not cached
/// before.
void Points::leave() {
  if (!In || WasKnown)
    return;
  PreservedAnalyses Rest = PreservedAnalyses::all();
  Rest.abandon<ScalarEvolutionAnalysis>();
  FAM.invalidate(*In, Rest);
}

void Points::enter(Function &F) {
  if (&F == In)
    return;
  leave();
  In = &F;
  WasKnown = FAM.getCachedResult<ScalarEvolutionAnalysis>(F) != nullptr;
  SE = &FAM.getResult<ScalarEvolutionAnalysis>(F);
  DT = &FAM.getResult<DominatorTreeAnalysis>(F);
  LI = &FAM.getResult<LoopAnalysis>(F);
}

/// Returns \p Count, all iterations but the first, plus one, 64 bits wide; null if it is unknown.
const SCEV *allOf(const SCEV *Count, ScalarEvolution &SE) {
  if (isa<SCEVCouldNotCompute>(Count) || SE.getTypeSizeInBits(Count->getType()) > 64)
    return nullptr;
  Type *Wide = Type::getInt64Ty(Count->getType()->getContext());
  return SE.getAddExpr(SE.getNoopOrZeroExtend(Count, Wide), SE.getOne(Wide));
}

/// Returns the iterations of the loop; null if they are not known before it.
const SCEV *Points::tripsOf(const Loop &L) { return allOf(SE->getBackedgeTakenCount(&L), *SE); }

/// Returns the iterations of the loop, or an upper bound if an exception or a break may leave it
/// early.
const SCEV *Points::mostTripsOf(const Loop &L) {
  BasicBlock *Latch = L.getLoopLatch();
  const SCEV *Exact = tripsOf(L);
  return Exact || !Latch || !L.isLoopExiting(Latch) ? Exact
                                                    : allOf(SE->getExitCount(&L, Latch), *SE);
}

/// True if \p Base is the same in the whole loop. A field that the loop loads anew may also be
/// loaded before it.
bool Points::isKnownBefore(Value *Base, const Loop &L) {
  if (L.isLoopInvariant(Base))
    return true;
  auto *Load = dyn_cast<LoadInst>(Base);
  return Load && Load->isSimple() && L.isLoopInvariant(fieldOf(*Load).first) &&
         isReadableAt(*Load, L.getHeader()->getTerminator(), DT);
}

/// Returns the range that a store walks in steps. The order of the steps need not be that of the
/// nested loops.
Range Points::orderedRange(const LoopReference &R) {
  Range Known;
  const BasicBlock *Block = R.Access->getParent();
  Type *Wide = Type::getInt64Ty(In->getContext());
  const SCEV *Address = SE->getSCEV(R.Pointer);
  auto *Base = dyn_cast<SCEVUnknown>(SE->getPointerBase(Address));
  if (!Base)
    return Known;
  const SCEV *At = SE->removePointerBase(Address), *Written = SE->getConstant(Wide, R.Bytes),
             *Bytes = Written;
  while (auto *Rec = dyn_cast<SCEVAddRecExpr>(At)) {
    const Loop *L = Rec->getLoop();
    // An upper bound is enough: memory that the loop does not reach is not touched, so its
    // superpages take no memory.
    const SCEV *Trips = Rec->isAffine() ? mostTripsOf(*L) : nullptr;
    const BasicBlock *Latch = L->getLoopLatch();
    // A store under a condition does not run in each iteration; an inner loop has its own guard.
    if (!Trips || !Latch || (LI->getLoopFor(Block) == L && !DT->dominates(Block, Latch)) ||
        !isKnownBefore(Base->getValue(), *L) || !SE->isLoopInvariant(Written, L) ||
        !SE->isLoopInvariant(Bytes, L))
      break;
    const SCEV *Step = SE->getTruncateOrSignExtend(Rec->getStepRecurrence(*SE), Wide);
    const SCEV *Before = SE->getMinusSCEV(Trips, SE->getOne(Wide));
    At = Rec->getStart();
    if (auto *Down = dyn_cast<SCEVConstant>(Step); Down && Down->getAPInt().isNegative()) {
      At = SE->getAddExpr(At, SE->getMulExpr(Step, Before));
      Step = SE->getNegativeSCEV(Step);
    }
    if (auto *Gap = dyn_cast<SCEVConstant>(Step);
        !Known.Of && Gap && Gap->getAPInt().ule(MostGapBytes) && Gap->getAPInt().ugt(R.Bytes))
      Written = Bytes = Step;
    Written = SE->getMulExpr(Written, Trips);
    Bytes = SE->getAddExpr(Bytes, SE->getMulExpr(Step, Before));
    Known = {L, Base->getValue(), At, Bytes, Written};
  }
  return Known;
}

/// True if the loop reads what the store overwrites. Updates (histograms) often return to few
/// places.
bool updates(const LoopReference &R, const Loop &L) {
  return any_of(R.Pointer->users(), [&](const User *U) {
    auto *Load = dyn_cast<LoadInst>(U);
    return Load && Load->getPointerOperand() == R.Pointer && L.contains(Load);
  });
}

/// Returns the whole object whose elements the loops write in no order. They must store as many
/// bytes as the object has. If a mask or a remainder spreads the stores, four stores per page
/// suffice.
Range Points::scatteredRange(const LoopReference &R) {
  Range Known;
  const LoopLevel *Moves = R.varying();
  const Loop *Inner = LI->getLoopFor(R.Access->getParent());
  const BasicBlock *Latch = Inner ? Inner->getLoopLatch() : nullptr;
  if (!Moves || !isUnpredictable(Moves->Kind) || !Latch || Moves->L != Inner ||
      !DT->dominates(R.Access->getParent(), Latch) || updates(R, *Inner))
    return Known;
  const SCEV *Address = SE->getSCEV(R.Pointer);
  auto *Base = dyn_cast<SCEVUnknown>(SE->getPointerBase(Address));
  if (!Base)
    return Known;
  Type *Wide = Type::getInt64Ty(In->getContext());
  const uint64_t Stride = strideOf(SE->removePointerBase(Address), R.Bytes);
  const SCEV *Written = SE->getConstant(
      Wide, spreadsByRemainder(R.Pointer, *SE) ? std::max(Stride, ScatteredBytesPerStore) : Stride);
  for (const LoopLevel &Level : R.Levels) {
    if (!isUnpredictable(Level.Kind))
      break; // writes the same places again
    const SCEV *Trips = Level.L ? tripsOf(*Level.L) : nullptr;
    if (!Trips || !isKnownBefore(Base->getValue(), *Level.L) ||
        !SE->isLoopInvariant(Written, Level.L))
      break;
    Written = SE->getMulExpr(Written, Trips);
    Known = {Level.L, Base->getValue(), SE->getZero(Wide), nullptr, Written};
  }
  return Known;
}

bool Points::computable(const Range &R, Instruction &At) {
  if (auto *Known = dyn_cast<SCEVConstant>(R.Written);
      Known && Known->getAPInt().getLimitedValue() < SuperpageBytes)
    return false;
  ScevExpander Expander(*SE);
  SmallVector<const SCEV *, 3> All{R.Offset, R.Written};
  if (R.Bytes)
    All.push_back(R.Bytes);
  return all_of(All, [&](const SCEV *S) { return Expander.isSafeToExpandAt(S, &At); }) &&
         !Expander.isHighCostExpansion(All, const_cast<Loop *>(R.Of), Budget,
                                       &FAM.getResult<TargetIRAnalysis>(*In), &At);
}

/// Inserts the marker of a point before \p At. The marker gets a block of its own only when all
/// loops have their last form. Before, the passes in between would have to analyse the function
/// again.
void Points::insert(Instruction &At, Value *Start, Value *Bytes, Value *Written, bool BeforeNest,
                    DebugLoc Where) {
  LLVMContext &C = At.getContext();
  IRBuilder<> B(&At);
  CallInst *Call = B.CreateCall(fillMarker(*In->getParent()), {Start, Bytes, Written});
  // The call changes which pages back the memory, never the memory's contents.
  Call->setMemoryEffects(MemoryEffects::inaccessibleMemOnly());
  Call->setDoesNotThrow();
  Call->addFnAttr(Attribute::WillReturn);
  if (BeforeNest)
    Call->addFnAttr(Attribute::get(C, BeforeNestAttr));
  setNotCaptured(*Call, 0);
  Call->setDebugLoc(Where);
}

bool Points::before(const LoopReference &R) {
  Function &F = *R.Access->getFunction();
  enter(F);
  if (F.hasAvailableExternallyLinkage() || F.hasOptSize() || !SE->isSCEVable(R.Pointer->getType()))
    return false;
  Range Known = orderedRange(R);
  if (!Known.Of)
    Known = scatteredRange(R);
  if (!Known.Of || !Done.insert({Known.Of, Known.Base}).second)
    return false;
  if (!Known.Of->getLoopPreheader())
    Changes(F);
  BasicBlock *Preheader = preheaderOf(Known.Of, F, FAM);
  if (!Preheader || Preheader->getTerminator()->isEHPad() ||
      !computable(Known, *Preheader->getTerminator()))
    return false;
  Changes(F);
  Instruction &At = *Preheader->getTerminator();
  if (!DT->dominates(Known.Base, &At)) {
    auto *Load = cast<LoadInst>(Known.Base);
    const auto [From, Distance] = fieldOf(*Load);
    IRBuilder<> B(&At);
    Known.Base = B.CreateAlignedLoad(Load->getType(), B.CreatePtrAdd(From, B.getInt64(Distance)),
                                     Load->getAlign());
  }
  ScevExpander Expander(*SE);
  const auto ValueOf = [&](const SCEV *S) {
    return Expander.expandCodeFor(S, S->getType(), At.getIterator());
  };
  IRBuilder<> B(&At);
  Value *Written = ValueOf(Known.Written),
        *Start = B.CreatePtrAdd(Known.Base, ValueOf(Known.Offset));
  insert(At, Start, Known.Bytes ? ValueOf(Known.Bytes) : B.getInt64(0), Written,
         !Known.Of->isInnermost(), Known.Of->getStartLoc());
  return true;
}

bool Points::before(const Fill &Filled) {
  CallBase &Call = *Filled.Call;
  enter(*Call.getFunction());
  auto *Known = dyn_cast<ConstantInt>(Filled.Bytes);
  // Copies are frequent, and most are short: only those that run once get a point.
  if (isa<MemIntrinsic>(Call) && LI->getLoopFor(Call.getParent()))
    return false;
  if (In->hasOptSize() || In->hasAvailableExternallyLinkage() ||
      (Known && !Filled.Count && Known->getValue().ult(SuperpageBytes)))
    return false;
  Changes(*In);
  IRBuilder<> B(&Call);
  Value *Bytes = B.CreateZExtOrTrunc(Filled.Bytes, B.getInt64Ty());
  if (Filled.Count)
    Bytes = B.CreateMul(Bytes, B.CreateZExtOrTrunc(Filled.Count, B.getInt64Ty()));
  insert(Call, Filled.To, Bytes, Bytes, /*BeforeNest=*/false, Call.getDebugLoc());
  return true;
}

/// True if the reference is in a nest or writes places in no order; both write more than other
/// loops.
bool isNest(const LoopReference &R) {
  const LoopLevel *Moves = R.varying();
  return R.Levels.size() > 1 || (Moves && isUnpredictable(Moves->Kind));
}

} // namespace

void insertFillPoints(const FillCandidates &Candidates, FunctionAnalysisManager &FAM,
                      function_ref<void(Function &)> Changes) {
  if (Candidates.empty())
    return;
  const Function *Any = Candidates.Stores.empty() ? Candidates.Calls.front().Call->getFunction()
                                                  : Candidates.Stores.front().Access->getFunction();
  size_t Left = FreePoints + instructionsOf(*Any->getParent()) / InstructionsPerPoint;
  Points All(FAM, Changes);
  for (const bool Nests : {true, false})
    for (const LoopReference &R : Candidates.Stores)
      if (Left && isNest(R) == Nests)
        Left -= All.before(R);
  for (const Fill &F : Candidates.Calls)
    if (Left)
      Left -= All.before(F);
  All.leave();
}

} // namespace smalloc
