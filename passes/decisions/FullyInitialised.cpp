//===- FullyInitialised.cpp - proves that new objects are filled ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Proves that the allocating function itself fills a new object. Then a superpage at first touch
// costs no unused memory, and saves first-touch faults. One of these proves it:
// - a loop nest of stores from the object's first byte, whose dimensions join without a gap and
//   whose extent is the requested size;
// - a memset, memcpy, read or fread of that size;
// - stores at random places of the object (ScatteredFill);
// - one element appended in each iteration, as by push_back after reserve (AppendedFill).
//
// A few bytes at either end do not count, and objects below a superpage may be filled another way.
// The object may start behind a header, and may be reached through the field that it was stored in.
// calloc alone proves nothing, since its zero pages are not touched; a calloc made from the
// program's malloc and memset does. Expressions are compared up to sign and zero extension: a wrong
// "yes" costs memory, never correctness.
//===----------------------------------------------------------------------===//
#include "passes/decisions/FullyInitialised.h"
#include "passes/fills/AppendedFill.h"
#include "passes/fills/ScatteredFill.h"
#include "passes/fills/SkipConditions.h"
#include "passes/ir/LlvmVersions.h"
#include "passes/loops/SameValue.h"
#include "passes/sites/ClearedSites.h"
#include "passes/sites/RequestedSize.h"
#include "passes/spread/PageShifts.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/PostDominators.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Dominators.h"

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
  const SCEV *Bytes = meantSize(Call.getArgOperand(Size), SE);
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
    return meantSize(Call.getArgOperand(1), SE);
  case AllocFamily::PosixMemalign:
    return meantSize(Call.getArgOperand(2), SE);
  case AllocFamily::FortranAllocate:
  case AllocFamily::FortranAssign:
  case AllocFamily::FortranSource:
  case AllocFamily::FortranCopyIn:
    return nullptr; // the size is in the array descriptor
  case AllocFamily::Mapping:
    return SE.getSCEV(Call.getArgOperand(mappedBytesArgument(
        *cast<Function>(Call.getCalledOperand()->stripPointerCastsAndAliases()))));
  case AllocFamily::ReallocArray:
    if (isa<ConstantPointerNull>(Call.getArgOperand(0)))
      return SE.getMulExpr(SE.getSCEV(Call.getArgOperand(1)), SE.getSCEV(Call.getArgOperand(2)));
    return nullptr; // as for realloc
  case AllocFamily::Realloc:
    return nullptr; // the old part is copied, the size of the new part is unknown
  default:
    return meantSize(Call.getArgOperand(0), SE);
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
      Sizes.push_back(SE.getTruncateOrZeroExtend(meantSize(Argument.get(), SE), Wide));
  for (size_t I = 0, Count = Sizes.size(); I < Count; ++I)
    for (size_t K = I + 1; K < Count; ++K)
      Sizes.push_back(SE.getMulExpr(Sizes[I], Sizes[K]));
  return Sizes;
}

const Value *baseOf(const SCEV *Address, ScalarEvolution &SE) {
  auto *Base = dyn_cast<SCEVUnknown>(SE.getPointerBase(Address));
  return Base ? Base->getValue() : nullptr;
}

/// True if \p Last ends a loop behind \p Call whose only way out leads to \p Next: that is no
/// choice. A loop that contains \p Call allocates several objects before \p Next.
bool endsLoop(const BasicBlock *Last, const BasicBlock *Next, const CallBase &Call,
              const FunctionAnalyses &A) {
  const Loop *L = A.LI.getLoopFor(Last);
  return L && !L->contains(Next) && !L->contains(Call.getParent()) &&
         L->getExitingBlock() == Last && !isa<SCEVCouldNotCompute>(A.SE.getBackedgeTakenCount(L));
}

/// True if a comparison of the result of \p Call leaves \p L: it runs again after a failure.
bool retries(const CallBase &Call, const Loop &L) {
  return any_of(Call.users(), [&](const User *U) {
    return isa<ICmpInst>(U) && any_of(U->users(), [&](const User *Branch) {
             auto *I = dyn_cast<Instruction>(Branch);
             return I && I->isTerminator() && L.isLoopExiting(I->getParent());
           });
  });
}

/// True if every allocation by \p Call leads to \p Filling. Exceptions are an empty object, a
/// failed allocation and dead ends. Any other branch between the two must compare the pointer or a
/// quantity of the size; else nothing is proved.
/// The loops around \p Write, which is \p Filling or a block of its nest, are assumed to run.
bool alwaysReached(const CallBase &Call, const BasicBlock *Filling, const BasicBlock *Write,
                   const SCEV *Size, const FunctionAnalyses &A) {
  // A filling behind a loop of allocations writes the last object only.
  if (const Loop *L = A.LI.getLoopFor(Call.getParent());
      L && !L->contains(Filling) && !retries(Call, *L))
    return false;
  const SkipConditions Skips(Call, Write, Size, A);
  const BasicBlock *Top = A.DT.findNearestCommonDominator(Call.getParent(), Filling);
  for (auto *Node = A.DT.getNode(Filling); Node && Node->getBlock() != Top;
       Node = Node->getIDom()) {
    const BasicBlock *B = Node->getIDom() ? Node->getIDom()->getBlock() : nullptr;
    if (!B || A.PDT.dominates(Node->getBlock(), Call.getParent()))
      break; // branches further up choose whether the allocation runs
    if (B->getSingleSuccessor() || isa<InvokeInst>(B->getTerminator()) ||
        A.PDT.dominates(Filling, B) || endsLoop(B, Node->getBlock(), Call, A))
      continue;
    if (auto *Switch = dyn_cast<SwitchInst>(B->getTerminator()); Switch && Skips.are(*Switch))
      continue;
    auto *Branch = dyn_cast<ConditionalBranch>(B->getTerminator());
    if (!Branch)
      return false;
    const auto IsDeadEnd = [](const BasicBlock *Next) {
      return isa<UnreachableInst>(Next->getTerminator());
    };
    const bool WhenTrue = A.DT.dominates(BasicBlockEdge(B, Branch->getSuccessor(0)), Filling);
    if (!any_of(Branch->successors(), IsDeadEnd) && !Skips.are(Branch->getCondition(), WhenTrue))
      return false;
  }
  return true;
}

/// True if \p V is the block that \p Call returned, or null where no block is needed: an empty
/// vector has none.
bool isBlockOrNull(const Value *V, const CallBase &Call) {
  if (V == &Call)
    return true;
  auto *Phi = dyn_cast<PHINode>(V);
  return Phi && is_contained(Phi->incoming_values(), &Call) &&
         all_of(Phi->incoming_values(),
                [&](const Use &In) { return In == &Call || isa<ConstantPointerNull>(In); });
}

/// True if \p V is the block that the call of \p Site returned. It may be merged with other
/// pointers by a phi. It may also be loaded from the place where the call (posix_memalign) or the
/// program stored it.
bool isBlockOf(const Value *V, const SiteDecision &Site, const DominatorTree &DT) {
  const CallBase &Call = *Site.Call;
  if (V == &Call)
    return true;
  if (auto *Phi = dyn_cast_or_null<PHINode>(V))
    return any_of(Phi->incoming_values(), [&](const Use &In) { return isBlockOrNull(In, Call); });
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

/// Most rows or columns that a nest may leave: a stencil's borders.
constexpr uint64_t MostBorders = 2;
/// Most dimensions of a nest that leaves borders.
constexpr size_t MostDimensions = 4;

/// Proves that the function of a site writes \p Size bytes of the site's block.
class WriteProof {
public:
  WriteProof(const SiteDecision &Site, const SCEV *Size, const FunctionAnalyses &A)
      : Site(Site), Size(Size), A(A), SE(A.SE), Wide(Type::getInt64Ty(Site.Call->getContext())) {}

  /// True if the loops around \p R write all bytes.
  bool byLoops(const LoopReference &R) const;
  /// True if \p F writes all bytes.
  bool byFill(const Fill &F) const;

private:
  /// A dimension of a loop nest.
  struct Dimension {
    const SCEV *Step, *Trip;
  };
  /// A walk through the block.
  struct Nest {
    const SCEV *Start;               ///< the walk's lowest address
    const Loop *Outermost = nullptr; ///< the outermost loop that walks
    SmallVector<Dimension, 4> Dimensions;
  };
  std::optional<Nest> nestOf(const LoopReference &R) const;
  std::optional<Dimension> joined(SmallVectorImpl<Dimension> &Dimensions, uint64_t Bytes) const;
  const SCEV *bytesOf(const Dimension &D, uint64_t More) const;
  bool leavesBorders(const SCEV *Skipped, ArrayRef<const SCEV *> Steps,
                     const Dimension &Rows) const;
  bool reachesEnd(const SCEV *Skipped, const SCEV *Length) const;

  const SiteDecision &Site;
  const SCEV *Size;
  const FunctionAnalyses &A;
  ScalarEvolution &SE;
  Type *Wide;
};

bool WriteProof::byLoops(const LoopReference &R) const {
  if (!R.Writes || !R.Outermost)
    return false;
  const Value *Base = baseOf(SE.getSCEV(R.Pointer), SE);
  if (!isBlockOf(Base, Site, A.DT))
    return false;
  if (const Loop *Scatters = scatteredFill(R, Size, SE, A.DT, A.LI);
      Scatters && alwaysReached(*Site.Call, Scatters->getHeader(), Scatters->getHeader(), Size, A))
    return true;
  if (const auto Appends = appendedBy(R, SE, A.DT, A.LI)) {
    auto *Start = SE.getSCEV(const_cast<Value *>(Appends->Start));
    const Value *Block = baseOf(Start, SE);
    if (Block && isBlockOf(Block, Site, A.DT)) {
      const SCEV *Skipped = SE.getMinusSCEV(Start, SE.getSCEV(const_cast<Value *>(Block)));
      return isSmallGap(Skipped) && reachesEnd(Skipped, Appends->Written) &&
             alwaysReached(*Site.Call, Appends->Of->getHeader(), Appends->Of->getHeader(), Size, A);
    }
  }
  std::optional<Nest> Walk = nestOf(R);
  const SCEV *Skipped =
      Walk && Base ? SE.getMinusSCEV(Walk->Start, SE.getSCEV(const_cast<Value *>(Base))) : nullptr;
  if (!Skipped || isa<SCEVCouldNotCompute>(Skipped) || Walk->Dimensions.empty() ||
      !alwaysReached(*Site.Call, Walk->Outermost->getHeader(), R.Access->getParent(), Size, A))
    return false;
  SmallVector<const SCEV *, 4> Steps;
  for (const Dimension &D : Walk->Dimensions)
    Steps.push_back(SE.getTruncateOrSignExtend(D.Step, Wide));
  const std::optional<Dimension> Whole = joined(Walk->Dimensions, R.Bytes);
  if (!Whole)
    return false;
  if (isSmallGap(Skipped) && reachesEnd(Skipped, bytesOf(*Whole, 0)))
    return true;
  return Steps.size() > 1 && leavesBorders(Skipped, Steps, *Whole);
}

/// Returns the bytes of \p D, and of \p More steps.
const SCEV *WriteProof::bytesOf(const Dimension &D, uint64_t More) const {
  return SE.getMulExpr(SE.getTruncateOrSignExtend(D.Step, Wide),
                       SE.getAddExpr(D.Trip, SE.getConstant(Wide, More)));
}

/// True if the rows \p Rows, from \p Skipped bytes behind the object's first on, are all rows of
/// the object but the first or the last. Programs write these separately, or never (stencils). The
/// walk may start one step behind the object's start in each dimension; \p Steps has them.
bool WriteProof::leavesBorders(const SCEV *Skipped, ArrayRef<const SCEV *> Steps,
                               const Dimension &Rows) const {
  Skipped = SE.getTruncateOrSignExtend(Skipped, Wide);
  const auto BeginsBehind = [&](unsigned Dimensions) {
    const SCEV *Rest = Skipped;
    for (unsigned I = 0; I < Steps.size(); ++I)
      if (Dimensions >> I & 1)
        Rest = SE.getMinusSCEV(Rest, Steps[I]);
    return isSmallGap(Rest);
  };
  if (Steps.size() > MostDimensions || !any_of(seq(0u, 1u << Steps.size()), BeginsBehind))
    return false;
  return any_of(seq(uint64_t{0}, MostBorders + 1),
                [&](uint64_t Left) { return sameSum(bytesOf(Rows, Left), Size, SE); });
}

/// True if a write of \p Length bytes that starts \p Skipped bytes behind the object's first leaves
/// no page at its end. Programs store the first element themselves, count from 1, or append a zero.
bool WriteProof::reachesEnd(const SCEV *Skipped, const SCEV *Length) const {
  const SCEV *End = SE.getAddExpr(Length, SE.getTruncateOrZeroExtend(Skipped, Length->getType()));
  if (sameSum(End, Size, SE))
    return true;
  if (auto *Known = dyn_cast<SCEVConstant>(Size); Known && Known->getAPInt().ult(SuperpageBytes))
    return false; // many small objects: the gaps add up
  if (End->getType() == Size->getType() && isSmallGap(SE.getMinusSCEV(Size, End)))
    return true;
  auto *Sum = dyn_cast<SCEVAddExpr>(Size);
  return Sum && isSmallGap(Sum->getOperand(0)) &&
         sameSum(End, SE.getMinusSCEV(Size, Sum->getOperand(0)), SE);
}

/// Returns each dimension of the nest of \p R as step and count; nothing if the store does not run
/// in each iteration.
std::optional<WriteProof::Nest> WriteProof::nestOf(const LoopReference &R) const {
  Nest Walk{SE.getSCEV(R.Pointer), nullptr, {}};
  while (auto *Rec = dyn_cast<SCEVAddRecExpr>(Walk.Start)) {
    const SCEV *Count = SE.getBackedgeTakenCount(Rec->getLoop());
    const BasicBlock *Latch = Rec->getLoop()->getLoopLatch();
    // A store under a condition does not run in each iteration. For an outer loop, the inner loop's
    // store was checked; a skipped inner loop has its own guard.
    const bool EachTime = A.LI.getLoopFor(R.Access->getParent()) != Rec->getLoop() ||
                          (Latch && A.DT.dominates(R.Access->getParent(), Latch));
    if (isa<SCEVCouldNotCompute>(Count) || !Rec->isAffine() || !EachTime)
      return std::nullopt;
    const SCEV *Trip =
        wholeElements(SE.getAddExpr(SE.getTruncateOrZeroExtend(Count, Wide), SE.getOne(Wide)), SE);
    const SCEV *Step = Rec->getStepRecurrence(SE);
    Walk.Start = Rec->getStart();
    Walk.Outermost = Rec->getLoop();
    if (auto *Down = dyn_cast<SCEVConstant>(Step); Down && Down->getAPInt().isNegative()) {
      // From the last element to the first is the same as upwards from the end of the walk.
      Walk.Start =
          SE.getAddExpr(Walk.Start, SE.getMulExpr(SE.getTruncateOrSignExtend(Step, Wide),
                                                  SE.getTruncateOrZeroExtend(Count, Wide)));
      Step = SE.getNegativeSCEV(Step);
    }
    Walk.Dimensions.push_back({Step, Trip});
  }
  return Walk;
}

/// Returns the outermost dimension of a walk by \p Dimensions in steps of \p Bytes; nothing if it
/// has gaps. In any order of nesting, each dimension must continue where the inner ones end, or a
/// border of few elements behind.
std::optional<WriteProof::Dimension> WriteProof::joined(SmallVectorImpl<Dimension> &Dimensions,
                                                        uint64_t Bytes) const {
  Dimension Whole{SE.getConstant(Wide, Bytes), SE.getOne(Wide)};
  for (bool First = true; !Dimensions.empty(); First = false) {
    auto Next = Dimensions.end();
    for (uint64_t Left = 0; Next == Dimensions.end() && Left <= (First ? 0 : MostBorders); ++Left)
      Next = find_if(Dimensions,
                     [&](const Dimension &D) { return sameSum(D.Step, bytesOf(Whole, Left), SE); });
    // A struct filled field by field, or several elements per iteration.
    if (Next == Dimensions.end() && First)
      Next = find_if(Dimensions, [](const Dimension &D) {
        auto *Step = dyn_cast<SCEVConstant>(D.Step);
        return Step && Step->getAPInt().isStrictlyPositive() && Step->getAPInt().ule(MostGapBytes);
      });
    if (Next == Dimensions.end())
      return std::nullopt;
    Whole = *Next;
    Dimensions.erase(Next);
  }
  return Whole;
}

/// Returns \p Bytes without the mask that rounds it down to whole elements. A copy of whole
/// elements has one (libc++), the request has not. The mask may also clear the sign bit.
Value *withoutRounding(Value *Bytes) {
  auto *And = dyn_cast<BinaryOperator>(Bytes);
  auto *Mask = And && And->getOpcode() == Instruction::And
                   ? dyn_cast<ConstantInt>(And->getOperand(1))
                   : nullptr;
  if (!Mask || Mask->getBitWidth() != 64)
    return Bytes;
  const uint64_t Kept = Mask->getZExtValue();
  const unsigned Low = llvm::countr_zero(Kept);
  return (uint64_t{1} << Low) <= MostGapBytes && isMask_64(Kept >> Low) && Kept >> 46
             ? And->getOperand(0)
             : Bytes;
}

bool WriteProof::byFill(const Fill &F) const {
  const SCEV *To = SE.getSCEV(F.To);
  const Value *Base = baseOf(To, SE);
  if (!Base || !isBlockOf(Base, Site, A.DT) ||
      !alwaysReached(*Site.Call, F.Call->getParent(), F.Call->getParent(), Size, A))
    return false;
  const SCEV *Skipped = SE.getMinusSCEV(To, SE.getSCEV(const_cast<Value *>(Base)));
  if (!isSmallGap(Skipped))
    return false;
  const SCEV *Length = SE.getSCEV(withoutRounding(withoutOverflowCheck(F.Bytes)));
  if (F.Count)
    Length =
        SE.getMulExpr(Length, SE.getTruncateOrZeroExtend(SE.getSCEV(F.Count), Length->getType()));
  return reachesEnd(Skipped, Length);
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
  const FunctionAnalyses A{
      FAM.getResult<ScalarEvolutionAnalysis>(F), FAM.getResult<DominatorTreeAnalysis>(F),
      FAM.getResult<PostDominatorTreeAnalysis>(F), FAM.getResult<LoopAnalysis>(F)};
  return any_of(possibleSizes(Site, A.SE), [&](const SCEV *Size) {
    const WriteProof Proof(Site, Size, A);
    return any_of(References, [&](const LoopReference &R) { return Proof.byLoops(R); }) ||
           any_of(Fills, [&](const Fill &Filled) { return Proof.byFill(Filled); });
  });
}

} // namespace smalloc
