//===- RegionIndex.cpp - regions that follow from an index ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/record/RegionIndex.h"
#include "passes/ir/LlvmVersions.h"
#include "passes/record/LoopVersion.h"
#include "smalloc/access.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/Operator.h"

using namespace llvm;

namespace smalloc {

std::optional<RegionIndex> regionIndex(Value *Pointer, const LoopVersion &V, const DataLayout &DL) {
  RegionIndex At{Pointer, nullptr, 0, 0};
  while (!V.isOutside(At.Base)) {
    auto *GEP = dyn_cast<GEPOperator>(At.Base);
    GepIndices Variable;
    APInt Constant(64, 0);
    if (!GEP || !GEP->hasNoUnsignedSignedWrap() ||
        !GEP->collectOffset(DL, 64, Variable, Constant) || Variable.size() > 1 ||
        (At.Index && !Variable.empty()) || !Constant.isSignedIntN(32))
      return std::nullopt;
    At.Offset += Constant.getSExtValue();
    At.Base = GEP->getPointerOperand();
    if (Variable.empty())
      continue;
    const auto &[Index, Scale] = Variable.front();
    if (!Scale.isPowerOf2() || Scale.logBase2() > SMALLOC_REGION_SHIFT ||
        Index->getType()->getIntegerBitWidth() > 64)
      return std::nullopt;
    At.Index = Index;
    At.Shift = Scale.logBase2();
  }
  return At.Index ? std::optional(At) : std::nullopt;
}

} // namespace smalloc
