//===- PointerVectors.cpp - the elements of vectors of pointers -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/ir/PointerVectors.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace smalloc {

unsigned pointerLanes(const Type *T) {
  auto *Vector = dyn_cast<FixedVectorType>(T);
  return Vector && Vector->getElementType()->isPointerTy() ? Vector->getNumElements() : 0;
}

VectorLane laneOf(const Value *V, unsigned Lane) {
  constexpr unsigned MaxSteps = 16; // a vector of eight elements takes eight insertions
  for (unsigned Step = 0; Step < MaxSteps; ++Step) {
    if (auto *Insert = dyn_cast<InsertElementInst>(V)) {
      auto *At = dyn_cast<ConstantInt>(Insert->getOperand(2));
      if (!At)
        break;
      if (At->getValue() == Lane)
        return {Insert->getOperand(1), 0};
      V = Insert->getOperand(0);
    } else if (auto *Shuffle = dyn_cast<ShuffleVectorInst>(V)) {
      auto *From = dyn_cast<FixedVectorType>(Shuffle->getOperand(0)->getType());
      if (!From || Lane >= Shuffle->getShuffleMask().size())
        break;
      const int At = Shuffle->getMaskValue(Lane),
                Elements = static_cast<int>(From->getNumElements());
      if (At < 0)
        return {nullptr, 0};
      V = Shuffle->getOperand(At < Elements ? 0 : 1);
      Lane = static_cast<unsigned>(At % Elements);
    } else if (auto *C = dyn_cast<Constant>(V)) {
      const Constant *Element = C->getAggregateElement(Lane);
      return Element ? VectorLane{Element, 0} : VectorLane{V, Lane};
    } else {
      break;
    }
  }
  return {V, Lane};
}

} // namespace smalloc
