//===- FillPoints.cpp - announces ranges before they are filled -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/points/FillPoints.h"
#include "passes/decisions/UnitSites.h"
#include "passes/ir/InstructionCount.h"
#include "passes/ir/LlvmVersions.h"
#include "passes/ir/Preheaders.h"
#include "passes/points/FillGuards.h"
#include "passes/points/FillRanges.h"
#include "passes/points/KnownFields.h"
#include "passes/points/PointParts.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Analysis/AliasAnalysis.h"
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

/// Highest cost of the expressions of a point, in the units of TargetTransformInfo: it excludes
/// divisions. A point that runs only in the first iteration of outer loops may cost more.
constexpr unsigned Budget = 40, BudgetOfFirst = 120;

/// Most points of a unit: FreePoints, and one more per InstructionsPerPoint instructions; in a
/// large unit, whose instructions are compiled for less each, twice FreePoints, and one more per
/// InstructionsPerPointOfLarge. Compiling one point takes the compiler up to a million
/// instructions, and most loops fill small arrays.
constexpr size_t FreePoints = 10, InstructionsPerPoint = 500, InstructionsPerPointOfLarge = 2000;

/// A range as values of the program; Bytes is 0 for the whole object. With Offset, there is a range
/// of Bytes at this distance behind each of Count pointers, which lie at Start.
struct Announced {
  Value *Start, *Bytes, *Written;
  Value *Count = nullptr, *Offset = nullptr;
};

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
  bool isNew(const FillRange &R);
  SmallVector<Instruction *, 4> loadFields(FillRange &Known, Instruction &At);
  bool computable(const FillRange &R, Instruction &At);
  void insert(Instruction &At, const Announced &Of, bool BeforeNest, DebugLoc Where);

  FunctionAnalysisManager &FAM;
  function_ref<void(Function &)> Changes;
  Function *In = nullptr;
  bool WasKnown = false; ///< scalar evolution of In was cached before
  ScalarEvolution *SE = nullptr;
  DominatorTree *DT = nullptr;
  LoopInfo *LI = nullptr;
  /// Loops and pointers that have a point. If the loop loads the pointer: the structure and the
  /// distance of the field.
  DenseSet<std::tuple<const Loop *, const Value *, int64_t>> Done;
};

/// Discards the scalar evolution of the function again, to save memory, if it was not cached
/// before.
void Points::leave() {
  if (In && !WasKnown)
    forgetEvolution(*In, FAM);
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

/// True if there is no point yet for the loop and this pointer. Remembers them.
bool Points::isNew(const FillRange &R) {
  const std::optional<Field> Place =
      R.Of->isLoopInvariant(R.Base) ? std::nullopt : fieldBehind(R.Base);
  return Done
      .insert(Place ? std::tuple(R.Of, static_cast<const Value *>(Place->Of), Place->Distance)
                    : std::tuple(R.Of, static_cast<const Value *>(R.Base), int64_t{0}))
      .second;
}

bool Points::computable(const FillRange &R, Instruction &At) {
  if (auto *Known = dyn_cast<SCEVConstant>(R.Written);
      Known && Known->getAPInt().getLimitedValue() < SuperpageBytes)
    return false;
  ScevExpander Expander(*SE);
  SmallVector<const SCEV *, 3> All{R.Offset, R.Written};
  for (const SCEV *Part : {R.Bytes, R.Pointers})
    if (Part)
      All.push_back(Part);
  // The expander would compute a step before its loop, also if it is loaded in the loop.
  const auto IsBroken = [&](const SCEV *S) {
    auto *Rec = dyn_cast<SCEVAddRecExpr>(S);
    return Rec && !all_of(Rec->operands(), [&](const SCEV *Part) {
             return SE->isLoopInvariant(Part, Rec->getLoop());
           });
  };
  return none_of(All, [&](const SCEV *S) { return SCEVExprContains(S, IsBroken); }) &&
         all_of(All, [&](const SCEV *S) { return Expander.isSafeToExpandAt(S, &At); }) &&
         !Expander.isHighCostExpansion(All, const_cast<Loop *>(R.Of),
                                       R.Around.empty() ? Budget : BudgetOfFirst,
                                       &FAM.getResult<TargetIRAnalysis>(*In), &At);
}

/// Inserts the marker of a point before \p At. The marker gets a block of its own only when all
/// loops have their last form. Before, the passes in between would have to analyse the function
/// again.
void Points::insert(Instruction &At, const Announced &Of, bool BeforeNest, DebugLoc Where) {
  LLVMContext &C = At.getContext();
  IRBuilder<> B(&At);
  SmallVector<Value *, 5> Arguments{Of.Start, Of.Bytes, Of.Written};
  if (Of.Offset)
    Arguments.append({Of.Count, Of.Offset});
  CallInst *Call = B.CreateCall(
      fillMarker(*In->getParent(), Of.Offset ? FillKind::Each : FillKind::One), Arguments);
  // The call changes which pages back the memory, never the memory's contents.
  MemoryEffects Effects = MemoryEffects::inaccessibleMemOnly();
  if (Of.Offset)
    Effects |= MemoryEffects::argMemOnly(ModRefInfo::Ref);
  Call->setMemoryEffects(Effects);
  Call->setDoesNotThrow();
  Call->addFnAttr(Attribute::WillReturn);
  if (BeforeNest)
    Call->addFnAttr(Attribute::get(C, BeforeNestAttr));
  setNotCaptured(*Call, 0);
  Call->setDebugLoc(Where);
}

/// Returns \p Written in the first iteration of the loop, and 0 in the others.
Value *inFirstIteration(Value *Written, const Loop &L, IRBuilder<> &B) {
  BasicBlock *Header = L.getHeader();
  PHINode *First = PHINode::Create(B.getInt1Ty(), pred_size(Header), "smalloc.first");
  First->insertBefore(Header->begin());
  for (BasicBlock *From : predecessors(Header))
    First->addIncoming(B.getInt1(!L.contains(From)), From);
  return B.CreateSelect(First, Written, ConstantInt::get(Written->getType(), 0));
}

/// Loads the fields in the range before \p At where their values are not known there. Returns the
/// loads.
SmallVector<Instruction *, 4> Points::loadFields(FillRange &Known, Instruction &At) {
  SmallVector<Instruction *, 4> Loads;
  const auto Load = [&](Value *V) {
    const Field Place = *fieldBehind(V);
    Instruction *Loaded = loadBefore(Place, At);
    Loads.push_back(Loaded);
    if (Loaded->getOperand(0) != Place.Of)
      Loads.push_back(cast<Instruction>(Loaded->getOperand(0)));
    return Loaded;
  };
  ValueToSCEVMapTy Loaded;
  for (Value *V : Known.Fields)
    if (!DT->dominates(V, &At))
      Loaded[V] = SE->getUnknown(Load(V));
  for (const SCEV **Part : {&Known.Offset, &Known.Bytes, &Known.Written})
    if (*Part && !Loaded.empty())
      *Part = SCEVParameterRewriter::rewrite(*Part, *SE, Loaded);
  if (!Known.Pointers && !DT->dominates(Known.Base, &At))
    Known.Base = Load(Known.Base);
  return Loads;
}

bool Points::before(const LoopReference &R) {
  Function &F = *R.Access->getFunction();
  enter(F);
  if (F.hasAvailableExternallyLinkage() || F.hasOptSize() || !SE->isSCEVable(R.Pointer->getType()))
    return false;
  FillRange Known = FillRanges(F, *SE, *DT, *LI).of(R);
  if (!Known.Of || !isNew(Known))
    return false;
  if (!Known.Of->getLoopPreheader())
    Changes(F);
  BasicBlock *Preheader = preheaderOf(Known.Of, F, FAM);
  if (!Preheader || Preheader->getTerminator()->isEHPad())
    return false;
  Instruction &At = *Preheader->getTerminator();
  SmallVector<Instruction *, 4> Loads = loadFields(Known, At);
  if (!computable(Known, At)) {
    for (Instruction *Load : Loads)
      Load->eraseFromParent();
    return false;
  }
  Changes(F);
  ScevExpander Expander(*SE);
  const auto ValueOf = [&](const SCEV *S) {
    return Expander.expandCodeFor(S, S->getType(), At.getIterator());
  };
  IRBuilder<> B(&At);
  Value *Written = ValueOf(Known.Written), *Offset = ValueOf(Known.Offset),
        *Bytes = Known.Bytes ? ValueOf(Known.Bytes) : B.getInt64(0);
  for (const Loop *L : Known.Around)
    Written = inFirstIteration(Written, *L, B);
  const Announced Range =
      Known.Pointers
          ? Announced{ValueOf(Known.Pointers), Bytes, Written, B.getInt64(Known.Count), Offset}
          : Announced{B.CreatePtrAdd(Known.Base, Offset), Bytes, Written};
  insert(At, Range, !Known.Of->isInnermost(), Known.Of->getStartLoc());
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
      Filled.To->getType()->getPointerAddressSpace() != 0 ||
      (Known && !Filled.Count && Known->getValue().ult(SuperpageBytes)))
    return false;
  Changes(*In);
  IRBuilder<> B(&Call);
  Value *Bytes = B.CreateZExtOrTrunc(Filled.Bytes, B.getInt64Ty());
  if (Filled.Count)
    Bytes = B.CreateMul(Bytes, B.CreateZExtOrTrunc(Filled.Count, B.getInt64Ty()));
  insert(Call, {Filled.To, Bytes, Bytes}, /*BeforeNest=*/false, Call.getDebugLoc());
  return true;
}

/// True if \p V points into memory that its function has just allocated, as where a container
/// grows, is copied or resized.
bool isNewMemory(const Value *V) {
  SmallVector<const Value *, 4> Objects;
  getUnderlyingObjects(V, Objects);
  return any_of(Objects, isNoAliasCall);
}

/// True for functions of the C++ library that the compiler has not inlined. Their loops sort,
/// search or move elements. Those that are generated for a lambda of the unit have its linkage.
bool isLibraryFunction(const Function &F) {
  StringRef Name = F.getName();
  return !F.hasLocalLinkage() &&
         (Name.starts_with("_ZSt") || Name.starts_with("_ZNSt") || Name.starts_with("_ZNKSt"));
}

/// Order of a fill among those of its unit, by the bytes that it probably writes first.
enum Rank : unsigned {
  CallIntoNew,
  NestOfLoops,
  SingleLoop,
  GrowingContainer,
  OtherCall,
  Library,
  Ranks
};

Rank rankOf(const LoopReference &R) {
  const LoopLevel *Moves = R.varying();
  if (isLibraryFunction(*R.Access->getFunction()))
    return isNewMemory(R.Pointer) ? GrowingContainer : Library;
  // Nests, and stores to places in no order, write more than other loops.
  return R.Levels.size() > 1 || (Moves && isUnpredictable(Moves->Kind)) ? NestOfLoops : SingleLoop;
}

Rank rankOf(const Fill &F) {
  if (isLibraryFunction(*F.Call->getFunction()))
    return isNewMemory(F.To) ? GrowingContainer : Library;
  return !isa<MemIntrinsic>(F.Call) || isNewMemory(F.To) ? CallIntoNew : OtherCall;
}

} // namespace

void insertFillPoints(const FillCandidates &Candidates, FunctionAnalysisManager &FAM,
                      function_ref<void(Function &)> Changes) {
  if (Candidates.empty())
    return;
  const Function *Any = Candidates.Stores.empty() ? Candidates.Calls.front().Call->getFunction()
                                                  : Candidates.Stores.front().Access->getFunction();
  const size_t Instructions = instructionsOf(*Any->getParent());
  size_t Left = FreePoints + std::min(Instructions / InstructionsPerPoint,
                                      FreePoints + Instructions / InstructionsPerPointOfLarge);
  std::vector<Rank> Stores, Calls; // before points are inserted
  for (const LoopReference &R : Candidates.Stores)
    Stores.push_back(rankOf(R));
  for (const Fill &F : Candidates.Calls)
    Calls.push_back(rankOf(F));
  Points All(FAM, Changes);
  for (unsigned Now = 0; Now < Ranks; ++Now) {
    for (size_t I = 0; I < Stores.size(); ++I)
      if (Left && Stores[I] == Now)
        Left -= All.before(Candidates.Stores[I]);
    for (size_t I = 0; I < Calls.size(); ++I)
      if (Left && Calls[I] == Now)
        Left -= All.before(Candidates.Calls[I]);
  }
  All.leave();
}

} // namespace smalloc
