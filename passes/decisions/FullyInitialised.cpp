//===- FullyInitialised.cpp - proves that new objects are filled ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Proves that the allocating function itself fills a new object. Then a superpage at first touch
// costs no unused memory, and saves first-touch faults. One of these proves it:
// - a loop nest of stores from the object's first byte, whose dimensions join without a gap and
//   whose extent is the requested size;
// - a memset, memcpy, read or fread of that size;
// - stores all over the object (ScatteredFill).
//
// The object may start behind a header, and may be reached through the field that it was stored in.
// calloc does not count, since its zero pages are not touched; a calloc made from the program's
// malloc and memset does. Expressions are compared up to sign and zero extension: a wrong "yes"
// costs memory, never correctness.
//===----------------------------------------------------------------------===//
#include "passes/decisions/FullyInitialised.h"
#include "passes/ir/LlvmVersions.h"
#include "passes/loops/SameValue.h"
#include "passes/loops/ScatteredFill.h"
#include "passes/sites/ClearedSites.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/PostDominators.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace smalloc {
namespace {

/// Returns the bytes requested from the wrapper, if its body or its attributes show them; else
/// null. A header that the wrapper adds does not count: a proof for the rest is good enough.
const SCEV *wrapperBytes(const SiteDecision &Site, ScalarEvolution &SE) {
  const CallBase &Call = *Site.Call;
  unsigned Size = 0;
  std::optional<unsigned> Count;
  if (Site.Wrapper && Site.Wrapper->SizeArgument >= 0)
    Size = static_cast<unsigned>(Site.Wrapper->SizeArgument);
  else if (Attribute Declared = Call.getFnAttr(Attribute::AllocSize); Declared.isValid())
    std::tie(Size, Count) = Declared.getAllocSizeArgs();
  else
    return nullptr;
  if (Size >= Call.arg_size() || (Count && *Count >= Call.arg_size()))
    return nullptr;
  const SCEV *Bytes = SE.getSCEV(withoutOverflowCheck(Call.getArgOperand(Size)));
  return Count ? SE.getMulExpr(Bytes, SE.getTruncateOrZeroExtend(
                                          SE.getSCEV(Call.getArgOperand(*Count)), Bytes->getType()))
               : Bytes;
}

/// Returns the requested bytes as an expression; null if no argument of the family holds them.
const SCEV *requestedBytes(const SiteDecision &Site, ScalarEvolution &SE) {
  const CallBase &Call = *Site.Call;
  switch (Site.Family) {
  case AllocFamily::Wrapper:
    return wrapperBytes(Site, SE);
  case AllocFamily::Calloc:
    return SE.getMulExpr(SE.getSCEV(Call.getArgOperand(0)), SE.getSCEV(Call.getArgOperand(1)));
  case AllocFamily::AlignedAlloc:
    return SE.getSCEV(Call.getArgOperand(1));
  case AllocFamily::PosixMemalign:
    return SE.getSCEV(Call.getArgOperand(2));
  case AllocFamily::FortranAllocate:
  case AllocFamily::FortranAssign:
  case AllocFamily::FortranSource:
  case AllocFamily::FortranCopyIn:
    return nullptr; // the size is in the array descriptor
  case AllocFamily::Mapping:
    return SE.getSCEV(Call.getArgOperand(mappedBytesArgument(
        *cast<Function>(Call.getCalledOperand()->stripPointerCastsAndAliases()))));
  case AllocFamily::Realloc:
  case AllocFamily::ReallocArray:
    return nullptr; // the old part is copied, the size of the new part is unknown
  default:
    return SE.getSCEV(withoutOverflowCheck(Call.getArgOperand(0)));
  }
}

/// Integer arguments that are tried as a size. An allocator has no more.
constexpr unsigned MaxSizeArguments = 4;

/// Returns the possible sizes of a request of \p Site: one if the size is known. A wrapper without
/// a known size, or in another unit, gives each integer argument and each product of two. If a loop
/// writes one of these sizes whole, that one is the size.
SmallVector<const SCEV *, 4> possibleSizes(const SiteDecision &Site, ScalarEvolution &SE) {
  if (const SCEV *Known = requestedBytes(Site, SE))
    return {Known};
  SmallVector<const SCEV *, 4> Sizes;
  if (Site.Family != AllocFamily::Wrapper)
    return Sizes;
  Type *Wide = Type::getInt64Ty(Site.Call->getContext());
  for (const Use &Argument : Site.Call->args())
    if (auto *T = dyn_cast<IntegerType>(Argument->getType());
        T && T->getBitWidth() <= 64 && T->getBitWidth() >= 32 && Sizes.size() < MaxSizeArguments)
      Sizes.push_back(
          SE.getTruncateOrZeroExtend(SE.getSCEV(withoutOverflowCheck(Argument.get())), Wide));
  for (size_t I = 0, Count = Sizes.size(); I < Count; ++I)
    for (size_t K = I + 1; K < Count; ++K)
      Sizes.push_back(SE.getMulExpr(Sizes[I], Sizes[K]));
  return Sizes;
}

const Value *baseOf(const SCEV *Address, ScalarEvolution &SE) {
  auto *Base = dyn_cast<SCEVUnknown>(SE.getPointerBase(Address));
  return Base ? Base->getValue() : nullptr;
}

/// True if every allocation leads to \p Filling. Exceptions are an empty object, a failed
/// allocation and dead ends. Any other branch between the two must compare the pointer or a
/// quantity of the size; else nothing is proved.
bool alwaysReached(const CallBase &Call, const BasicBlock *Filling, const SCEV *Size,
                   ScalarEvolution &SE, const DominatorTree &DT, const PostDominatorTree &PDT,
                   const LoopInfo &LI) {
  SmallPtrSet<const Value *, 8> Quantities{&Call}; // the result of posix_memalign reports a failure
  SmallVector<const SCEV *, 8> Stack{Size};
  while (!Stack.empty()) {
    const SCEV *S = Stack.pop_back_val();
    if (auto *U = dyn_cast<SCEVUnknown>(S))
      Quantities.insert(U->getValue());
    for (const SCEV *Op : S->operands())
      Stack.push_back(Op);
  }
  auto Quantity = [&](const Value *V) {
    for (unsigned Depth = 0; Depth < 6; ++Depth) {
      if (Quantities.contains(V))
        return true;
      auto *I = dyn_cast<Instruction>(V);
      if (!I || I->getNumOperands() == 0)
        return false;
      if (auto *Phi = dyn_cast<PHINode>(I);
          Phi && any_of(Phi->incoming_values(),
                        [&](const Use &In) { return Quantities.contains(In.get()); }))
        return true;
      V = I->getOperand(0); // casts, and arithmetic with a constant
    }
    return false;
  };
  // A loop around the filling is assumed to run: its guard compares a quantity of its trip count.
  auto GuardsLoop = [&](const ICmpInst *Compare) {
    for (const Use &Op : Compare->operands())
      if (auto *C = dyn_cast<ConstantInt>(Op); C && C->getValue().getSignificantBits() > 2)
        return false; // a threshold that the program chose
    for (const Loop *L = LI.getLoopFor(Filling); L; L = L->getParentLoop()) {
      const SCEV *Count = SE.getBackedgeTakenCount(L);
      if (isa<SCEVCouldNotCompute>(Count))
        continue;
      for (const Use &Op : Compare->operands())
        if (SE.isSCEVable(Op->getType()) && !isa<Constant>(Op) &&
            SCEVExprContains(Count, [&](const SCEV *Part) { return Part == bare(SE.getSCEV(Op)); }))
          return true;
    }
    return false;
  };
  // Only a comparison of the size with 0 or 1 tests for emptiness. Any other one makes a choice.
  auto TestsEmpty = [&](const ICmpInst *Compare) {
    for (unsigned Side = 0; Side < 2; ++Side)
      if (auto *C = dyn_cast<ConstantInt>(Compare->getOperand(1 - Side)))
        return C->getValue().getSignificantBits() <= 2 && Quantity(Compare->getOperand(Side));
    return false;
  };
  const BasicBlock *Top = DT.findNearestCommonDominator(Call.getParent(), Filling);
  for (auto *Node = DT.getNode(Filling); Node && Node->getBlock() != Top; Node = Node->getIDom()) {
    const BasicBlock *B = Node->getIDom() ? Node->getIDom()->getBlock() : nullptr;
    if (!B)
      break;
    if (B->getSingleSuccessor() || isa<InvokeInst>(B->getTerminator()) || PDT.dominates(Filling, B))
      continue;
    auto *Branch = dyn_cast<ConditionalBranch>(B->getTerminator());
    if (!Branch)
      return false; // a switch: the filling is one case of several
    if (any_of(Branch->successors(),
               [](const BasicBlock *Next) { return isa<UnreachableInst>(Next->getTerminator()); }))
      continue;
    SmallVector<const Value *, 4> Conditions{Branch->getCondition()};
    while (!Conditions.empty()) {
      auto *I = dyn_cast<Instruction>(Conditions.pop_back_val());
      auto *Compare = dyn_cast_or_null<ICmpInst>(I);
      if (I && !Compare && (I->isBitwiseLogicOp() || isa<SelectInst>(I))) {
        for (const Use &Op : I->operands())
          if (!isa<Constant>(Op))
            Conditions.push_back(Op);
        continue;
      }
      bool OfPointer = Compare && Compare->getOperand(0)->getType()->isPointerTy();
      if (!Compare || (!OfPointer && !TestsEmpty(Compare) && !GuardsLoop(Compare)))
        return false;
    }
  }
  return true;
}

/// True if \p V is the block that the call of \p Site returned. It may also be loaded from the
/// place where the call (posix_memalign) or the program stored it.
bool isBlockOf(const Value *V, const SiteDecision &Site, const DominatorTree &DT) {
  const CallBase &Call = *Site.Call;
  if (V == &Call)
    return true;
  if (auto *Phi = dyn_cast_or_null<PHINode>(V))
    return is_contained(Phi->incoming_values(), &Call);
  auto *Load = dyn_cast_or_null<LoadInst>(V);
  if (!Load)
    return false;
  const int Out = storesResult(Site.Family) ? 0 : Site.Wrapper ? Site.Wrapper->Out : -1;
  if (Out >= 0)
    return Load->getPointerOperand() == Call.getArgOperand(static_cast<unsigned>(Out)) &&
           DT.dominates(&Call, Load);
  // A structure's field or a Fortran descriptor: the block must be stored there before the load.
  return any_of(Call.users(), [&](const User *U) {
    auto *Store = dyn_cast<StoreInst>(U);
    return Store && Store->getValueOperand() == &Call && DT.dominates(Store, Load) &&
           Store->getPointerOperand() == Load->getPointerOperand();
  });
}

/// The analyses of the allocating function.
struct Analyses {
  ScalarEvolution &SE;
  const DominatorTree &DT;
  const PostDominatorTree &PDT;
  const LoopInfo &LI;
};

/// True if a loop or a fill of \p Site's function writes \p Size bytes of its block.
bool writesAll(const SiteDecision &Site, const SCEV *Size, ArrayRef<LoopReference> References,
               ArrayRef<Fill> Fills, const Analyses &A) {
  const auto &[SE, DT, PDT, LI] = A;
  const CallBase &Call = *Site.Call;
  for (const LoopReference &R : References) {
    if (!R.Writes || !R.Outermost)
      continue;
    const SCEV *Address = SE.getSCEV(R.Pointer);
    if (!isBlockOf(baseOf(Address, SE), Site, DT))
      continue;
    if (const Loop *Scatters = scatteredFill(R, Size, SE, DT, LI);
        Scatters && alwaysReached(Call, Scatters->getHeader(), Size, SE, DT, PDT, LI))
      return true;
    // Collect every dimension of the nest as step and count. In any order of nesting, each
    // dimension must continue where the inner ones end.
    Type *Wide = Type::getInt64Ty(Call.getContext());
    SmallVector<std::pair<const SCEV *, const SCEV *>, 4> Dimensions;
    const SCEV *Start = Address;
    bool Countable = true;
    const Value *Base = baseOf(Address, SE);
    const Loop *Around = nullptr; // outermost loop that walks the object
    while (auto *Rec = dyn_cast<SCEVAddRecExpr>(Start)) {
      const SCEV *Count = SE.getBackedgeTakenCount(Rec->getLoop());
      const BasicBlock *Latch = Rec->getLoop()->getLoopLatch();
      // A store under a condition does not run in each iteration.
      bool EachTime = Latch && DT.dominates(R.Access->getParent(), Latch);
      if (LI.getLoopFor(R.Access->getParent()) != Rec->getLoop())
        EachTime =
            true; // the inner loop's store was checked; a skipped inner loop has its own guard
      Around = Rec->getLoop();
      if (isa<SCEVCouldNotCompute>(Count) || !Rec->isAffine() || !EachTime) {
        Countable = false;
        break;
      }
      const SCEV *Trip = SE.getAddExpr(SE.getTruncateOrZeroExtend(Count, Wide), SE.getOne(Wide));
      const SCEV *Step = Rec->getStepRecurrence(SE);
      Start = Rec->getStart();
      if (auto *Down = dyn_cast<SCEVConstant>(Step); Down && Down->getAPInt().isNegative()) {
        // From the last element to the first is the same as upwards from the end of the walk.
        Start = SE.getAddExpr(Start, SE.getMulExpr(SE.getTruncateOrSignExtend(Step, Wide),
                                                   SE.getTruncateOrZeroExtend(Count, Wide)));
        Step = SE.getNegativeSCEV(Step);
      }
      Dimensions.push_back({Step, Trip});
    }
    if (!Countable || Dimensions.empty() || !Base || !Around ||
        !SE.getMinusSCEV(Start, SE.getSCEV(const_cast<Value *>(Base)))->isZero() ||
        !alwaysReached(Call, Around->getHeader(), Size, SE, DT, PDT, LI))
      continue;
    const SCEV *Extent = SE.getConstant(APInt(64, R.Bytes));
    bool Gapless = true;
    for (bool First = true; Gapless && !Dimensions.empty(); First = false) {
      auto Next = find_if(Dimensions, [&](const auto &D) {
        if (sameSum(D.first, Extent, SE))
          return true;
        // A struct filled field by field, or several elements per iteration: gaps of up to 256
        // bytes leave no page untouched.
        auto *Step = dyn_cast<SCEVConstant>(D.first);
        return First && Step && Step->getAPInt().isStrictlyPositive() && Step->getAPInt().ule(256);
      });
      if (Next == Dimensions.end()) {
        Gapless = false;
        break;
      }
      Extent = SE.getMulExpr(SE.getTruncateOrSignExtend(Next->first, Wide), Next->second);
      Dimensions.erase(Next);
    }
    if (Gapless && sameSum(Extent, Size, SE))
      return true;
  }
  for (const Fill &F : Fills) {
    const SCEV *To = SE.getSCEV(F.To);
    const Value *Base = baseOf(To, SE);
    if (!Base || !isBlockOf(Base, Site, DT) ||
        !alwaysReached(Call, F.Call->getParent(), Size, SE, DT, PDT, LI))
      continue;
    // The program may store the first element itself and fill the rest from it.
    auto *Skipped =
        dyn_cast<SCEVConstant>(SE.getMinusSCEV(To, SE.getSCEV(const_cast<Value *>(Base))));
    if (!Skipped || Skipped->getAPInt().ugt(256))
      continue;
    const SCEV *Length = SE.getSCEV(withoutOverflowCheck(F.Bytes));
    if (F.Count)
      Length =
          SE.getMulExpr(Length, SE.getTruncateOrZeroExtend(SE.getSCEV(F.Count), Length->getType()));
    if (sameSum(SE.getAddExpr(Length, SE.getTruncateOrZeroExtend(Skipped, Length->getType())), Size,
                SE))
      return true;
  }
  return false;
}

} // namespace

bool fullyInitialised(const SiteDecision &Site, ArrayRef<LoopReference> References,
                      ArrayRef<Fill> Fills, FunctionAnalysisManager &FAM) {
  if (Site.Family == AllocFamily::FortranAssign || isFortranCopy(Site.Family))
    return true; // filled by the assignment or the copy itself
  if (Site.Call->hasFnAttr(ClearedAttr))
    return true; // filled by the program's memset, whatever the optimiser makes of it
  if (Fills.empty() &&
      none_of(References, [](const LoopReference &R) { return R.Writes && R.Outermost; }))
    return false; // the analyses are too expensive for a function without fills
  Function &F = *Site.Call->getFunction();
  const Analyses A{FAM.getResult<ScalarEvolutionAnalysis>(F),
                   FAM.getResult<DominatorTreeAnalysis>(F),
                   FAM.getResult<PostDominatorTreeAnalysis>(F), FAM.getResult<LoopAnalysis>(F)};
  return any_of(possibleSizes(Site, A.SE),
                [&](const SCEV *Size) { return writesAll(Site, Size, References, Fills, A); });
}

} // namespace smalloc
