//===- LoopAccesses.cpp - the memory accesses of loops ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/loops/LoopAccesses.h"
#include "passes/loops/LoopWrites.h"
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

/// True if the number that \p Place loads is advanced by a constant where it is read
/// (text[count++]). Successive calls then walk in order.
bool countsOn(const LoadInst &Place) {
  return any_of(Place.users(), [&](const User *U) {
    auto *Sum = dyn_cast<BinaryOperator>(U);
    return Sum && (Sum->getOpcode() == Instruction::Add || Sum->getOpcode() == Instruction::Sub) &&
           isa<ConstantInt>(Sum->getOperand(1)) && any_of(Sum->users(), [&](const User *Use) {
             auto *Store = dyn_cast<StoreInst>(Use);
             return Store && Store->getValueOperand() == Sum &&
                    Store->getPointerOperand() == Place.getPointerOperand();
           });
  });
}

/// True if \p Root is an object that each call of its function allocates anew.
bool isFresh(const Value &Root, const LoopInfo &LI) {
  const auto *Call = dyn_cast<CallBase>(&Root);
  return Call && (Call->hasFnAttr(SiteIdAttr) || isNoAliasCall(Call)) &&
         !getReallocatedOperand(Call) && !LI.getLoopFor(Call->getParent());
}

/// True if the address \p Pointer, outside of any loop, has an unpredictable part: an index that is
/// computed or loaded. A plain argument is none, since its caller may walk it in order. A pointer
/// loaded from a table points to a place as unpredictable as the table's index.
bool computedIndex(const Value *Pointer, unsigned Depth = 0) {
  if (auto *Load = dyn_cast<LoadInst>(Pointer))
    return Depth <= 6 && computedIndex(Load->getPointerOperand(), Depth + 1);
  const auto *G = dyn_cast<GEPOperator>(Pointer);
  if (!G || Depth > 6)
    return false;
  for (const Use &Index : G->indices()) {
    const Value *V = Index;
    while (auto *C = dyn_cast<CastInst>(V))
      V = C->getOperand(0);
    if (auto *Load = dyn_cast<LoadInst>(V); Load && !countsOn(*Load))
      return true;
    if (auto *B = dyn_cast<BinaryOperator>(V))
      switch (B->getOpcode()) {
      case Instruction::And:
      case Instruction::URem:
      case Instruction::SRem:
      case Instruction::LShr:
      case Instruction::Xor:
        return true;
      default:
        break;
      }
  }
  return computedIndex(G->getPointerOperand(), Depth + 1);
}

bool picksAtRandom(Instruction *I) {
  return any_of(touchesOf(*I), [](const Touch &T) { return computedIndex(T.Pointer); });
}

/// Returns the arguments of a self-recursive function whose calls pass a pointer loaded through the
/// argument.
SmallPtrSet<const Argument *, 4> chasedArguments(Function &F) {
  SmallPtrSet<const Argument *, 4> Chased;
  for (Instruction &I : instructions(F)) {
    auto *Call = dyn_cast<CallBase>(&I);
    if (!Call || Call->getCalledFunction() != &F)
      continue;
    for (Argument &A : F.args()) {
      if (!A.getType()->isPointerTy() || A.getArgNo() >= Call->arg_size())
        continue;
      SmallVector<const Value *, 8> Stack{Call->getArgOperand(A.getArgNo())};
      SmallPtrSet<const Value *, 16> Seen;
      bool Loaded = false;
      while (!Stack.empty()) {
        const Value *V = Stack.pop_back_val();
        if (!Seen.insert(V).second || Seen.size() > 64)
          continue;
        if (auto *L = dyn_cast<LoadInst>(V)) {
          const Value *Root = getUnderlyingObject(L->getPointerOperand());
          if (Root == &A || isa<PHINode>(Root))
            Loaded = true;
        } else if (isa<GetElementPtrInst, PHINode, SelectInst>(V)) {
          for (const Use &Op : cast<Instruction>(V)->operands())
            Stack.push_back(Op);
        }
      }
      if (Loaded)
        Chased.insert(&A);
    }
  }
  return Chased;
}

} // namespace

const LoopLevel *LoopReference::varying() const {
  for (const LoopLevel &L : Levels)
    if (L.Kind != Motion::None)
      return &L;
  return nullptr;
}

DenseSet<const Function *> functionsCalledInLoops(Module &M, FunctionAnalysisManager &FAM) {
  DenseSet<const Function *> Result;
  SmallVector<const Function *, 16> Work;
  DenseMap<const Function *, SmallVector<const Function *, 8>> Calls;
  for (Function &F : M) {
    if (F.isDeclaration())
      continue;
    LoopInfo &LI = FAM.getResult<LoopAnalysis>(F);
    for (Instruction &I : instructions(F)) {
      auto *Call = dyn_cast<CallBase>(&I);
      if (!Call)
        continue;
      auto *Callee = dyn_cast<Function>(Call->getCalledOperand()->stripPointerCastsAndAliases());
      if (!Callee || Callee->isDeclaration())
        continue;
      Calls[&F].push_back(Callee);
      // A function that calls itself counts as called in a loop.
      if ((Callee == &F || LI.getLoopFor(I.getParent())) && Result.insert(Callee).second)
        Work.push_back(Callee);
    }
  }
  while (!Work.empty())
    for (const Function *Callee : Calls.lookup(Work.pop_back_val()))
      if (Result.insert(Callee).second)
        Work.push_back(Callee);
  return Result;
}

namespace {

/// A walk in a loop, and its last address. Computing the address takes symbolic arithmetic that no
/// other pass needs, so last() does it on demand.
struct InnerWalk {
  const SCEVAddRecExpr *Walk;
  const SCEV *Last = nullptr;

  /// Returns the last address; null if the loop's count is unknown.
  const SCEV *last(ScalarEvolution &SE) {
    const SCEV *Count = SE.getBackedgeTakenCount(Walk->getLoop());
    if (!Last && !isa<SCEVCouldNotCompute>(Count))
      Last = Walk->evaluateAtIteration(
          SE.getTruncateOrZeroExtend(Count, SE.getEffectiveSCEVType(Count->getType())), SE);
    return Last;
  }
};

/// References of one innermost loop to one base, which are compared with each other.
struct Neighbourhood {
  struct Member {
    const SCEV *Address;
    size_t Reference; ///< index of the reference
  };
  SmallVector<Member, 4> Members;
  SmallVector<InnerWalk, 4> Inside; ///< walks in loops directly inside

  /// True if a walk in a loop directly inside starts or ends on the page of \p Address.
  bool isPassed(const SCEV *Address, uint64_t PageBytes, ScalarEvolution &SE);
};

/// Most members that are compared. A further reference (unrolled code) has no group.
constexpr size_t MaxNeighbours = 32;

bool Neighbourhood::isPassed(const SCEV *Address, uint64_t PageBytes, ScalarEvolution &SE) {
  const auto IsNear = [&](const SCEV *End) {
    std::optional<APInt> Apart = End ? SE.computeConstantDifference(Address, End) : std::nullopt;
    return Apart && Apart->abs().ult(PageBytes);
  };
  return any_of(MutableArrayRef(Inside).take_front(MaxNeighbours / 2),
                [&](InnerWalk &W) { return IsNear(W.Walk->getStart()) || IsNear(W.last(SE)); });
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
uint64_t startBytes(const LoopReference &R, const SCEV *Address, ScalarEvolution &SE) {
  const SCEV *Start = Address;
  while (auto *Walk = dyn_cast<SCEVAddRecExpr>(Start))
    Start = Walk->getStart();
  auto *From = dyn_cast<SCEVConstant>(SE.removePointerBase(Start));
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

} // namespace

std::vector<LoopReference> loopReferences(Function &F, FunctionAnalysisManager &FAM,
                                          bool CalledInLoop, uint64_t PageBytes) {
  std::vector<LoopReference> References;
  LoopInfo &LI = FAM.getResult<LoopAnalysis>(F);
  SmallPtrSet<const Argument *, 4> Chased = chasedArguments(F);
  const std::vector<Instruction *> Order = inOrder(F);
  // True for most small functions.
  if (LI.empty() && Chased.empty() && none_of(Order, picksAtRandom))
    return References;
  ScalarEvolution &SE = FAM.getResult<ScalarEvolutionAnalysis>(F);
  TripCounts Trips(SE);
  LoopWrites Writes(F, FAM);
  DenseMap<const Loop *, std::unique_ptr<MotionQuery>> Queries;
  DenseMap<std::pair<const Loop *, const SCEV *>, Neighbourhood> Neighbours;
  unsigned Groups = 0;
  for (Instruction *At : Order)
    for (const Touch &T : touchesOf(*At)) {
      Instruction &I = *At;
      Value *Pointer = T.Pointer;
      const Value *Root = getUnderlyingObject(Pointer);
      if (isa<AllocaInst>(Root) ||
          Pointer->getType()->getScalarType()->getPointerAddressSpace() != 0)
        continue;
      LoopReference R;
      R.Access = &I;
      R.Pointer = Pointer;
      R.Bytes = T.Bytes;
      R.Writes = T.Writes;
      const Loop *Inner = LI.getLoopFor(I.getParent());
      const auto *Passed = dyn_cast<Argument>(Root);
      const bool IsChased = Passed && Chased.contains(Passed);
      if (!Inner && !IsChased && !computedIndex(Pointer)) // not repeated, or in an unknown way
        continue;
      // Skips an object allocated by this call outside of loops: the next call has another object.
      if (!Inner && isFresh(*Root, LI))
        continue;
      const SCEV *Address = SE.isSCEVable(Pointer->getType()) ? SE.getSCEV(Pointer) : nullptr;
      if (!Address && !T.Gathers)
        continue;
      if (T.Gathers) { // a vector of addresses: the innermost loop gathers, however the base moves
        for (const Loop *L = Inner; L; L = L->getParentLoop()) {
          LoopLevel Level = Trips.of(L);
          Level.L = L;
          Level.Kind = L == Inner ? Motion::Gather : Motion::None;
          R.Levels.push_back(Level);
          R.Outermost = L;
        }
        if (!R.Levels.empty())
          References.push_back(std::move(R));
        continue;
      }
      auto MovesWith = [&](const Loop *L) -> MotionQuery & {
        auto &Query = Queries[L];
        if (!Query)
          Query = std::make_unique<MotionQuery>(L, SE, &Writes);
        return *Query;
      };
      if (auto *Base = dyn_cast<SCEVUnknown>(SE.getPointerBase(Address)); Base && Inner)
        if (auto *Load = dyn_cast<LoadInst>(Base->getValue()))
          R.ThroughPointers = Inner->contains(Load) && !isDrawn(*Load, MovesWith(Inner), SE);
      if (Inner) {
        Neighbourhood &Near = Neighbours[{Inner, SE.getPointerBase(Address)}];
        for (size_t K = 0; K < std::min(Near.Members.size(), MaxNeighbours); ++K) {
          const Neighbourhood::Member &M = Near.Members[K];
          std::optional<APInt> Apart = M.Address == Address
                                           ? APInt(64, 0)
                                           : SE.computeConstantDifference(Address, M.Address);
          if (!Apart || Apart->getSignificantBits() > 63)
            continue;
          R.Repeated |= Apart->abs().ult(PageBytes);
          LoopReference &Other = References[M.Reference];
          if (!Other.Group)
            Other.Group = ++Groups;
          R.Group = Other.Group;
          R.OffsetBytes = Other.OffsetBytes + Apart->getSExtValue();
          if (R.Repeated)
            break;
        }
        R.Repeated = R.Repeated || Near.isPassed(Address, PageBytes, SE);
        if (R.Repeated && !R.Writes)
          continue;
      }
      for (const Loop *L = Inner; L; L = L->getParentLoop()) {
        LoopLevel Level = MovesWith(L).of(Address);
        // An address inside a block allocated in this very iteration: fresh blocks follow each
        // other.
        if (auto *Base = dyn_cast<SCEVUnknown>(SE.getPointerBase(Address));
            Base && isUnpredictable(Level.Kind))
          if (auto *Call = dyn_cast<CallBase>(Base->getValue());
              Call && Call->hasFnAttr(SiteIdAttr) && L->contains(Call))
            Level.Kind = Motion::Constant, Level.StrideBytes = 64;
        // An index loaded through itself within one array is a gather, since the object stays the
        // same.
        if (Level.Kind == Motion::Chase && SE.isLoopInvariant(SE.getPointerBase(Address), L))
          Level.Kind = Motion::Gather;
        LoopLevel Counted = Trips.of(L);
        Counted.L = L;
        Counted.Kind = Level.Kind;
        Counted.StrideBytes = Level.StrideBytes;
        R.Levels.push_back(Counted);
        R.Outermost = L;
      }
      if (T.Walks && Inner &&
          none_of(R.Levels, [](const LoopLevel &L) { return isUnpredictable(L.Kind); })) {
        LoopLevel Copy;
        Copy.Kind = Motion::Constant;
        Copy.StrideBytes = static_cast<int64_t>(T.Bytes);
        Copy.OfCopy = true;
        R.Levels.insert(R.Levels.begin(), Copy);
      }
      startOrEnd(R, Trips, SE);
      R.StartBytes = startBytes(R, Address, SE);
      LoopLevel Around; // for recursion, or a caller's loop
      if (IsChased) {
        Around.Kind = Motion::Chase;
        R.Levels.push_back(Around);
      } else if (!Inner) { // the address has a computed index
        Around.Kind = Motion::Irregular;
        R.Assumed = !CalledInLoop;
        R.Levels.push_back(Around);
      } else if (CalledInLoop && !R.Levels.empty()) {
        R.Levels.push_back(Around);
      }
      if (R.Levels.empty())
        continue;
      if (Inner) {
        const SCEV *Base = SE.getPointerBase(Address);
        Neighbours[{Inner, Base}].Members.push_back({Address, References.size()});
        // The surrounding loop's accesses at the start or end of this walk are on a page that the
        // walk has touched.
        auto *Walk = dyn_cast<SCEVAddRecExpr>(Address);
        const Loop *Around = Inner->getParentLoop();
        if (Walk && Around && Walk->getLoop() == Inner && Walk->isAffine())
          Neighbours[{Around, Base}].Inside.push_back({Walk});
      }
      References.push_back(std::move(R));
    }
  markPrefetched(F, LI, SE, References);
  return References;
}

} // namespace smalloc
