//===- KnownFields.cpp - fields that loops load anew ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/points/KnownFields.h"
#include "passes/ir/LlvmVersions.h"
#include "passes/points/WidenedSums.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/NoFolder.h"

using namespace llvm;

namespace smalloc {
namespace {

/// Most instructions of a loop whose fields are looked at: the loops of a fill are short.
constexpr unsigned MostInstructions = 500;

/// Most values that one field may have in a function: a loop's rotation leaves two or three.
constexpr unsigned MostValues = 16;

/// Most blocks before a loop in which a load of the field is looked for.
constexpr unsigned MostBlocks = 8;

/// Returns a pointer without its constant offset, and the offset in bytes.
std::pair<Value *, int64_t> placeOf(Value *Pointer, const DataLayout &DL) {
  APInt Distance(DL.getIndexTypeSizeInBits(Pointer->getType()), 0);
  const Value *From =
      Pointer->stripAndAccumulateConstantOffsets(DL, Distance, /*AllowNonInbounds=*/true);
  return {const_cast<Value *>(From), Distance.getSExtValue()};
}

/// True if the memory of a field may be free behind the instruction: it frees memory, or waits for
/// another thread that may do so.
bool mayFree(const Instruction &I) {
  if (I.isAtomic())
    return true;
  auto *Call = dyn_cast<CallBase>(&I);
  if (!Call || Call->onlyAccessesInaccessibleMemory())
    return false;
  auto *Copy = dyn_cast<MemIntrinsic>(Call);
  return Copy ? Copy->isVolatile()
              : !Call->hasFnAttr(Attribute::NoFree) || !Call->hasFnAttr(Attribute::NoSync);
}

bool mayEndOrFree(const Instruction &I) {
  return !isGuaranteedToTransferExecutionToSuccessor(&I) || mayFree(I);
}

/// True if the instruction may change a field of the structure that \p Of points to: it stores a
/// pointer, writes to the structure, or calls a function that writes more than the memory of its
/// arguments.
bool mayChange(const Instruction &I, const Value *Of, const DataLayout &DL) {
  if (!I.mayWriteToMemory())
    return false;
  const auto IsIn = [&](Value *Pointer) { return placeOf(Pointer, DL).first == Of; };
  if (auto *Store = dyn_cast<StoreInst>(&I))
    return Store->getValueOperand()->getType()->isPtrOrPtrVectorTy() ||
           IsIn(const_cast<Value *>(Store->getPointerOperand()));
  auto *Call = dyn_cast<CallBase>(&I);
  return !Call || !Call->onlyAccessesInaccessibleMemOrArgMem() ||
         any_of(Call->args(), [&](const Use &Argument) {
           return Argument->getType()->isPointerTy() && IsIn(Argument);
         });
}

/// Puts the values of fields in the place of their placeholders.
class FieldValues : public SCEVRewriteVisitor<FieldValues> {
public:
  FieldValues(ScalarEvolution &SE, const ValueToSCEVMapTy &Values)
      : SCEVRewriteVisitor(SE), Values(Values) {}

  const SCEV *visitUnknown(const SCEVUnknown *Unknown) {
    const auto At = Values.find(Unknown->getValue());
    return At == Values.end() ? static_cast<const SCEV *>(Unknown) : At->second;
  }
  /// A recurrence must not depend on what its own loop loads: {a,+,field} becomes
  /// a + field * {0,+,1}.
  const SCEV *visitAddRecExpr(const SCEVAddRecExpr *Rec) {
    const SCEV *Start = visit(Rec->getStart());
    if (!Rec->isAffine())
      return Start; // a wrong place costs nothing but the advice
    const SCEV *Step = visit(Rec->getStepRecurrence(SE));
    if (Start == Rec->getStart() && Step == Rec->getStepRecurrence(SE))
      return Rec;
    Type *Wide = Step->getType();
    const SCEV *Counter =
        SE.getAddRecExpr(SE.getZero(Wide), SE.getOne(Wide), Rec->getLoop(), SCEV::FlagAnyWrap);
    return SE.getAddExpr(Start, SE.getMulExpr(Step, Counter));
  }

private:
  const ValueToSCEVMapTy &Values;
};

} // namespace

bool Field::isSame(const Field &Other) const {
  return Of == Other.Of && Distance == Other.Distance &&
         Loads.front()->getType() == Other.Loads.front()->getType();
}

std::optional<Field> fieldBehind(Value *V) {
  SmallVector<Value *, MostValues> Seen{V};
  Field Found;
  for (size_t I = 0; I < Seen.size(); ++I) { // grows
    if (auto *Phi = dyn_cast<PHINode>(Seen[I])) {
      for (Value *From : Phi->incoming_values())
        if (!is_contained(Seen, From)) {
          if (Seen.size() == MostValues)
            return {};
          Seen.push_back(From);
        }
      continue;
    }
    auto *Load = dyn_cast<LoadInst>(Seen[I]);
    if (!Load || !Load->isSimple())
      return {};
    Field Here;
    std::tie(Here.Of, Here.Distance) = placeOf(Load->getPointerOperand(), Load->getDataLayout());
    Here.Loads = {Load};
    if (Here.Of->getType() != Load->getPointerOperandType()) // of another address space
      return {};
    if (!Found.Of)
      Found = Here;
    else if (!Found.isSame(Here))
      return {};
    else
      Found.Loads.push_back(Load);
  }
  return Found.Of ? std::optional(Found) : std::nullopt;
}

LoadInst *loadBefore(const Field &From, Instruction &At) {
  const LoadInst &Load = *From.Loads.front();
  Align Least = Load.getAlign();
  for (const LoadInst *Other : From.Loads)
    Least = std::min(Least, Other->getAlign());
  IRBuilder<NoFolder> B(&At);
  Value *Place = From.Distance ? B.CreatePtrAdd(From.Of, B.getInt64(From.Distance)) : From.Of;
  return B.CreateAlignedLoad(Load.getType(), Place, Least);
}

/// True if the loop probably does not change the structure that \p Of points to.
bool KnownFields::isKept(const Value *Of, const Loop &L) {
  if (!L.isLoopInvariant(Of))
    return false;
  const auto [At, IsNew] = Kept.try_emplace({Of, &L}, false);
  if (!IsNew)
    return At->second;
  unsigned Seen = 0; // instructions
  for (const BasicBlock *Block : L.blocks())
    for (const Instruction &I : *Block)
      if (++Seen > MostInstructions || mayChange(I, Of, F.getDataLayout()))
        return false;
  return At->second = true;
}

KnownFields::Known &KnownFields::knownFor(const Field &Place, Value *V) {
  for (Known &Old : Fields)
    if (Old.Place.isSame(Place)) {
      for (LoadInst *Load : Place.Loads)
        if (!is_contained(Old.Place.Loads, Load))
          Old.Place.Loads.push_back(Load);
      return Old;
    }
  return Fields.emplace_back(Known{Place, V, nullptr});
}

/// True if \p V is the value of a field that the loop probably does not change.
bool KnownFields::isKnownField(Value *V, const Loop &L) {
  const std::optional<Field> Place = fieldBehind(V);
  if (!Place || !isKept(Place->Of, L))
    return false;
  knownFor(*Place, V);
  return true;
}

bool KnownFields::allKnown(const Loop &L, ArrayRef<const SCEV *> Parts, Value *Base) {
  // Those of inner loops, too: their placeholders look invariant.
  if (!all_of(Fields, [&](const Known &One) { return isKept(One.Place.Of, L); }) ||
      (Base && !L.isLoopInvariant(Base) && !isKnownField(Base, L)))
    return false;
  for (const SCEV *Part : Parts)
    if (SCEVExprContains(Part, [&](const SCEV *Leaf) {
          auto *Unknown = dyn_cast<SCEVUnknown>(Leaf);
          Value *V = Unknown ? Unknown->getValue() : nullptr;
          if (!V || L.isLoopInvariant(V) || Placeholders.count(V))
            return false;
          if (!isKnownField(V, L))
            return true;
          Known &Of = knownFor(*fieldBehind(V), V);
          if (!Of.Placeholder) {
            auto *Placeholder = new FreezeInst(PoisonValue::get(V->getType()), "",
                                               F.getEntryBlock().getFirstInsertionPt());
            Of.Placeholder = SE.getUnknown(Placeholder);
            Values[Placeholder] = SE.getUnknown(Of.Given);
          }
          Placeholders[V] = Of.Placeholder;
          return false;
        }))
      return false;
  return true;
}

const SCEV *KnownFields::mostTripsOf(const Loop &L) {
  const BasicBlock *Latch = L.getLoopLatch();
  auto *Test = dyn_cast_or_null<ICmpInst>(Latch ? conditionOf(Latch->getTerminator()) : nullptr);
  if (!Test || !L.isLoopExiting(Latch) || !SE.isSCEVable(Test->getOperand(0)->getType()) ||
      !Test->getOperand(0)->getType()->isIntegerTy())
    return nullptr;
  const SCEV *Counter = SE.getSCEV(Test->getOperand(0)), *End = SE.getSCEV(Test->getOperand(1));
  if (!allKnown(L, {Counter, End}, nullptr))
    return nullptr;
  // The comparison that is true as long as the loop goes on, with the counter on its left.
  CmpInst::Predicate Goes = Latch->getTerminator()->getSuccessor(0) == L.getHeader()
                                ? Test->getPredicate()
                                : Test->getInversePredicate();
  Counter = withPlaceholders(Counter), End = withPlaceholders(End);
  if (!isa<SCEVAddRecExpr>(Counter)) {
    std::swap(Counter, End);
    Goes = CmpInst::getSwappedPredicate(Goes);
  }
  auto *Rec = dyn_cast<SCEVAddRecExpr>(Counter);
  auto *Step = Rec ? dyn_cast<SCEVConstant>(Rec->getStepRecurrence(SE)) : nullptr;
  if (!Step || Rec->getLoop() != &L || !Rec->isAffine() || !SE.isLoopInvariant(End, &L) ||
      Step->getAPInt().isZero() || SE.getTypeSizeInBits(End->getType()) > 64)
    return nullptr;
  const bool Up = !Step->getAPInt().isNegative(), Signed = CmpInst::isSigned(Goes);
  if (Goes == CmpInst::ICMP_EQ ||
      (CmpInst::isRelational(Goes) && Up != (ICmpInst::isLT(Goes) || ICmpInst::isLE(Goes))))
    return nullptr;
  const SCEV *From = Up ? Rec->getStart() : End, *To = Up ? End : Rec->getStart();
  if (CmpInst::isRelational(Goes)) // none if the counter begins behind the end
    To = Signed ? SE.getSMaxExpr(To, From) : SE.getUMaxExpr(To, From);
  Type *Wide = Type::getInt64Ty(F.getContext());
  const uint64_t Each = Step->getAPInt().abs().getLimitedValue();
  const bool Inclusive = CmpInst::isNonStrictPredicate(Goes);
  const SCEV *Way = SE.getNoopOrZeroExtend(SE.getMinusSCEV(To, From), Wide);
  // Rounded up; with <=, the end counts, too. The first iteration runs before the test.
  Way = SE.getAddExpr(Way, SE.getConstant(Wide, Inclusive ? Each : Each - 1));
  return SE.getAddExpr(SE.getUDivExpr(Way, SE.getConstant(Wide, Each)), SE.getOne(Wide));
}

/// True if the loop's first iteration surely loads the field, if a load shortly before the loop
/// does, or if the compiler knows that the memory is there.
bool KnownFields::isReadableBefore(const Field &Place, const BasicBlock &Before,
                                   const Loop &L) const {
  if (!DT.dominates(Place.Of, Before.getTerminator()))
    return false;
  for (const LoadInst *Load : Place.Loads) {
    if (isReadableAt(*Load, Before.getTerminator(), &DT))
      return true;
    if (Load->getParent() == L.getHeader() &&
        none_of(make_range(Load->getParent()->begin(), Load->getIterator()), mayEndOrFree))
      return true;
  }
  // Backwards over what surely runs before the loop.
  const BasicBlock *Block = &Before;
  for (unsigned Blocks = 0; Block && Blocks < MostBlocks; ++Blocks) {
    for (const Instruction &I : reverse(*Block)) {
      if (is_contained(Place.Loads, &I))
        return true;
      if (mayEndOrFree(I))
        return false;
    }
    const Loop *Around = LI.getLoopFor(Block);
    if (!Around || Around->getHeader() != Block)
      Block = Block->getSinglePredecessor();
    else // earlier iterations run before, too
      Block = none_of(Around->blocks(), [](const BasicBlock *In) { return any_of(*In, mayFree); })
                  ? Around->getLoopPredecessor()
                  : nullptr;
  }
  return false;
}

bool KnownFields::areReadableBefore(const Loop &L) const {
  const BasicBlock *Before = L.getLoopPredecessor();
  return Before && all_of(Fields, [&](const Known &One) {
           return DT.dominates(One.Given, Before->getTerminator()) ||
                  isReadableBefore(One.Place, *Before, L);
         });
}

const SCEV *KnownFields::withPlaceholders(const SCEV *S) {
  return widenedSums(SCEVParameterRewriter::rewrite(S, SE, Placeholders), SE);
}

const SCEV *KnownFields::withValues(const SCEV *S) { return FieldValues(SE, Values).visit(S); }

SmallVector<Value *, 4> KnownFields::valuesIn(ArrayRef<const SCEV *> Parts) const {
  SmallVector<Value *, 4> Used; // in the order of Fields: the compiler's output must not vary
  for (const Known &One : Fields) {
    const auto IsValue = [&](const SCEV *Leaf) {
      auto *Unknown = dyn_cast<SCEVUnknown>(Leaf);
      return Unknown && Unknown->getValue() == One.Given;
    };
    if (One.Placeholder &&
        any_of(Parts, [&](const SCEV *Part) { return SCEVExprContains(Part, IsValue); }))
      Used.push_back(One.Given);
  }
  return Used;
}

KnownFields::~KnownFields() {
  for (const Known &One : Fields)
    if (One.Placeholder)
      cast<Instruction>(cast<SCEVUnknown>(One.Placeholder)->getValue())->eraseFromParent();
}

} // namespace smalloc
