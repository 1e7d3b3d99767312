//===- LoopWrites.cpp - writes of a loop to memory that it loads ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/loops/LoopWrites.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace smalloc {
namespace {

/// Most writers of one loop that are searched for each load: the first ones.
constexpr size_t MaxWriters = 64;

/// True if \p I may leave a new number in memory. Starts and ends of lifetimes, assumptions and
/// fills with one value do not.
bool changesValues(const Instruction &I) {
  if (auto *Store = dyn_cast<StoreInst>(&I))
    return !Store->getValueOperand()->getType()->isPointerTy();
  auto *Call = dyn_cast<CallBase>(&I);
  return Call && I.mayWriteToMemory() && !Call->onlyAccessesInaccessibleMemory() &&
         (!isa<IntrinsicInst>(I) || isa<AnyMemTransferInst>(I));
}

} // namespace

const Instruction *LoopWrites::writerOf(const LoadInst &Load, const Loop &L) {
  auto [It, New] = Known.try_emplace({&Load, &L}, nullptr);
  return New ? It->second = find(Load, L) : It->second;
}

const Instruction *LoopWrites::find(const LoadInst &Load, const Loop &L) {
  auto [Of, New] = Writers.try_emplace(&L);
  if (New)
    for (const BasicBlock *Block : L.blocks())
      for (const Instruction &I : *Block)
        if (Of->second.size() < MaxWriters && changesValues(I))
          Of->second.push_back(&I);
  if (Of->second.empty())
    return nullptr;
  if (!Alias)
    Alias.emplace(FAM.getResult<AAManager>(F));
  const MemoryLocation Read = MemoryLocation::get(&Load);
  const Value *Object = getUnderlyingObject(Load.getPointerOperand());
  auto *Global = dyn_cast<GlobalVariable>(Object);
  const Instruction *Called = nullptr;
  for (const Instruction *I : Of->second) {
    if (auto *Store = dyn_cast<StoreInst>(I)) {
      if (Alias->isMustAlias(MemoryLocation::get(Store), Read))
        return Store;
      continue;
    }
    auto *Call = cast<CallBase>(I);
    const bool Handed = any_of(Call->args(), [&](const Use &Argument) {
      return Argument->getType()->isPointerTy() && getUnderlyingObject(Argument) == Object;
    });
    if (!Called && (Handed || (Global && !Global->isConstant())) &&
        isModSet(Alias->getModRefInfo(Call, Read)))
      Called = Call;
  }
  return Called;
}

} // namespace smalloc
