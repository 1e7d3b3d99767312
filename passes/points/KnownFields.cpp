//===- KnownFields.cpp - fields that loops load anew ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/points/KnownFields.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace smalloc {
namespace {

/// Most instructions of a loop whose fields are looked at: the loops of a fill are short.
constexpr unsigned MostInstructions = 500;

/// Returns a pointer without its constant offset, and the offset in bytes.
std::pair<const Value *, int64_t> placeOf(const Value *Pointer, const DataLayout &DL) {
  APInt Distance(DL.getIndexTypeSizeInBits(Pointer->getType()), 0);
  const Value *From =
      Pointer->stripAndAccumulateConstantOffsets(DL, Distance, /*AllowNonInbounds=*/true);
  return {From, Distance.getSExtValue()};
}

/// True if the instruction may change a field of the structure that \p Of points to: it stores a
/// pointer, writes to the structure, or calls a function that writes more than the memory of its
/// arguments.
bool mayChange(const Instruction &I, const Value *Of, const DataLayout &DL) {
  if (!I.mayWriteToMemory())
    return false;
  const auto IsIn = [&](const Value *Pointer) { return placeOf(Pointer, DL).first == Of; };
  if (auto *Store = dyn_cast<StoreInst>(&I))
    return Store->getValueOperand()->getType()->isPtrOrPtrVectorTy() ||
           IsIn(Store->getPointerOperand());
  auto *Call = dyn_cast<CallBase>(&I);
  return !Call || !Call->onlyAccessesInaccessibleMemOrArgMem() ||
         any_of(Call->args(), [&](const Use &Argument) {
           return Argument->getType()->isPointerTy() && IsIn(Argument);
         });
}

} // namespace

std::pair<Value *, int64_t> fieldOf(const LoadInst &Load) {
  const auto [From, Distance] = placeOf(Load.getPointerOperand(), Load.getDataLayout());
  return {const_cast<Value *>(From), Distance};
}

/// True if the load reads the same place in each iteration, which the loop probably does not
/// change.
bool KnownFields::isKept(const LoadInst &Load, const Loop &L) const {
  Value *Of = fieldOf(Load).first;
  if (!Load.isSimple() || !L.isLoopInvariant(Of))
    return false;
  unsigned Seen = 0; // instructions
  for (const BasicBlock *Block : L.blocks())
    for (const Instruction &I : *Block)
      if (++Seen > MostInstructions || mayChange(I, Of, Load.getDataLayout()))
        return false;
  return true;
}

bool KnownFields::allKnown(const Loop &L, ArrayRef<const SCEV *> Parts, Value *Base) {
  const auto IsField = [&](const Value *V) {
    auto *Load = dyn_cast<LoadInst>(V);
    return Load && isKept(*Load, L);
  };
  if (!L.isLoopInvariant(Base) && !IsField(Base))
    return false;
  for (const SCEV *Part : Parts)
    if (SCEVExprContains(Part, [&](const SCEV *Leaf) {
          auto *Unknown = dyn_cast<SCEVUnknown>(Leaf);
          Value *V = Unknown ? Unknown->getValue() : nullptr;
          if (!V || L.isLoopInvariant(V) || Placeholders.count(V))
            return false;
          if (!IsField(V))
            return true;
          auto *Placeholder = new FreezeInst(PoisonValue::get(V->getType()), "",
                                             F.getEntryBlock().getFirstInsertionPt());
          Placeholders[V] = SE.getUnknown(Placeholder);
          Loads[Placeholder] = Unknown;
          return false;
        }))
      return false;
  return true;
}

const SCEV *KnownFields::withPlaceholders(const SCEV *S) {
  return SCEVParameterRewriter::rewrite(S, SE, Placeholders);
}

const SCEV *KnownFields::withLoads(const SCEV *S) {
  return SCEVParameterRewriter::rewrite(S, SE, Loads);
}

KnownFields::~KnownFields() {
  for (const auto &[Placeholder, Load] : Loads)
    cast<Instruction>(const_cast<Value *>(static_cast<const Value *>(Placeholder)))
        ->eraseFromParent();
}

} // namespace smalloc
