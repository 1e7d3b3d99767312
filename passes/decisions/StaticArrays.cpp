//===- StaticArrays.cpp - global variables listed as sites ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/decisions/StaticArrays.h"
#include "passes/decisions/SiteText.h"
#include "passes/ir/UnitName.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/xxhash.h"
#include <cmath>

using namespace llvm;

namespace smalloc {
namespace {

constexpr StringRef IdMetadata = "smalloc.static"; ///< id, and whether the variable is local

const ConstantInt *kept(const GlobalVariable &G, unsigned Which) {
  const MDNode *Kept = G.getMetadata(IdMetadata);
  return Kept ? mdconst::dyn_extract<ConstantInt>(Kept->getOperand(Which)) : nullptr;
}

/// Returns the element size, if the type shows it. Fortran's COMMON blocks are bytes to LLVM.
uint64_t elementBytes(const GlobalVariable &G) {
  Type *T = G.getValueType();
  while (auto *Array = dyn_cast<ArrayType>(T))
    T = Array->getElementType();
  return T->isSized() ? G.getDataLayout().getTypeAllocSize(T).getFixedValue() : 0;
}

SiteDecision describe(const GlobalVariable &G, uint64_t Bytes) {
  SiteDecision V;
  V.Variable = &G;
  V.Callee = G.hasCommonLinkage() ? "common" : "static";
  V.Function = G.getName().str();
  V.Flags = SMALLOC_SITE_STATIC;
  V.SizeBytes = Bytes;
  V.SizeText = utostr(Bytes) + " bytes";
  V.ElementBytes = elementBytes(G);
  V.File = unitName(*G.getParent()).str();
  SmallVector<DIGlobalVariableExpression *, 1> Debug;
  G.getDebugInfo(Debug);
  if (!Debug.empty()) {
    V.File = Debug.front()->getVariable()->getFilename().str();
    V.Line = Debug.front()->getVariable()->getLine();
  }
  std::string Key = "static " + G.getName().str();
  if (G.hasLocalLinkage())
    Key += (" " + unitName(*G.getParent())).str();
  const ConstantInt *Id = kept(G, 0);
  V.Id = Id ? Id->getZExtValue() : xxh3_64bits(Key);
  V.Name = "__smalloc_v1_site_" + utohexstr(V.Id, true, 16) + "_static";
  return V;
}

} // namespace

void keepStaticIds(ArrayRef<SiteDecision> Statics) {
  for (const SiteDecision &V : Statics) {
    LLVMContext &C = V.Variable->getContext();
    Metadata *Kept[] = {
        ConstantAsMetadata::get(ConstantInt::get(Type::getInt64Ty(C), V.Id)),
        ConstantAsMetadata::get(ConstantInt::getBool(C, V.Variable->hasLocalLinkage()))};
    const_cast<GlobalVariable *>(V.Variable)->setMetadata(IdMetadata, MDNode::get(C, Kept));
  }
}

bool wasOwn(const GlobalVariable &G) {
  const ConstantInt *Own = kept(G, 1);
  return Own ? Own->isOne() : G.hasLocalLinkage();
}

std::vector<SiteDecision>
decideStatics(Module &M, ArrayRef<LoopReference> References, const PointerOrigins &Origins,
              const Options &O,
              function_ref<Finding(const LoopReference &, const SiteDecision &)> Judge) {
  MapVector<const GlobalVariable *, SmallVector<const LoopReference *, 8>> Reaching;
  for (const GlobalVariable &G : M.globals())
    if (G.hasInitializer() && !G.hasAvailableExternallyLinkage() && !G.isConstant() &&
        !G.isThreadLocal() && G.getValueType()->isSized() &&
        M.getDataLayout().getTypeAllocSize(G.getValueType()).getFixedValue() >= (2u << 20))
      Reaching[&G];
  std::vector<SiteDecision> Result;
  if (Reaching.empty())
    return Result;
  for (const LoopReference &R : References)
    if (!R.Repeated)
      for (const GlobalVariable *G : Origins.variablesOf(R.Pointer))
        if (auto It = Reaching.find(G); It != Reaching.end())
          It->second.push_back(&R);
  for (auto &[G, Reached] : Reaching) {
    SiteDecision V =
        describe(*G, M.getDataLayout().getTypeAllocSize(G->getValueType()).getFixedValue());
    Finding Best;
    for (const LoopReference *R : Reached) {
      Finding F = Judge(*R, V);
      if (!Best.Reference || (F.pays() != Best.pays() ? F.pays() : F.Saving > Best.Saving) ||
          (!Best.pays() && F.Saving == Best.Saving && F.Pattern > Best.Pattern))
        Best = std::move(F);
    }
    if (Best.Reference && Best.Pattern != SMALLOC_PATTERN_NONE) {
      V.Pattern = Best.Pattern;
      if (O.Model == SMALLOC_MODEL_SPREAD) {
        V.MissesPerAccess = Best.Misses;
        V.SavingCycles = Best.Saving;
      }
      if (Best.Pages >= 0)
        V.SpreadPages = static_cast<uint64_t>(std::ceil(Best.Pages));
      V.SpreadText = spreadText(*Best.Reference, O.Machine.BasePageBytes);
      V.Access = Best.Reference->Access;
      V.Confidence = Best.Reference->Assumed ? 40 : 70;
    } else {
      V.Pattern = G->hasLocalLinkage() ? SMALLOC_PATTERN_NONE : SMALLOC_PATTERN_UNKNOWN;
      V.Confidence = G->hasLocalLinkage() ? 60 : 30;
    }
    V.Why = !Best.Why.empty() ? Best.Why : "no loop of this unit walks it";
    if (Best.pays() && V.SizeBytes >= Best.MinBytes && O.Heap != SMALLOC_HEAP_OFF) {
      V.Decision = SMALLOC_DECISION_SUPERPAGE;
      V.MinBytes = 0;
      V.Why += "; superpages with program:static";
    } else if (!G->hasLocalLinkage()) {
      V.Why += "; other units may walk it";
    }
    Result.push_back(std::move(V));
  }
  return Result;
}

} // namespace smalloc
