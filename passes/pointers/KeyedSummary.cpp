//===- KeyedSummary.cpp - pointers that cross the unit's borders ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/pointers/KeyedSummary.h"
#include "passes/ir/UnitName.h"
#include "passes/sites/AllocationSites.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include <set>

using namespace llvm;

namespace smalloc {
namespace {

/// Most keys of one pointer. With more, the keys say little about what it points to.
constexpr size_t MaxRoots = 8;
/// Most flows of a unit's summary, 24 bytes each. The summary of a generated unit with 100,000
/// calls must not outweigh its code.
constexpr size_t MaxFlows = 4096;

const Function *calledFunction(const CallBase &Call) {
  return dyn_cast<Function>(Call.getCalledOperand()->stripPointerCastsAndAliases());
}

bool isExported(const Function &F) { return !F.hasLocalLinkage() && F.getName() != "main"; }

} // namespace

SmallVector<KeyRoot, 2> KeyNames::memoryOf(const Instruction &Access) {
  if (std::optional<uint64_t> Field = fieldKey(Access))
    return {{*Field, false}};
  const Value *Address = getLoadStorePointerOperand(&Access);
  return Address ? pointersAt(Address) : Roots();
}

/// Returns the keys of the pointers that are stored at \p Address.
SmallVector<KeyRoot, 2> KeyNames::pointersAt(const Value *Address) {
  APInt Offset(Layout.getIndexTypeSizeInBits(Address->getType()), 0);
  const Value *Base =
      Address->stripAndAccumulateConstantOffsets(Layout, Offset, /*AllowNonInbounds=*/true);
  if (auto *G = dyn_cast<GlobalVariable>(Base))
    return {{globalKey(*G, Offset.getSExtValue()), false}};
  Roots Result;
  for (KeyRoot R : rootsOf(Address)) {
    R.Contents = true; // all deeper levels share one key
    if (!is_contained(Result, R))
      Result.push_back(R);
  }
  return Result;
}

SmallVector<KeyRoot, 2> KeyNames::rootsOf(const Value *Pointer) {
  Roots Result;
  SmallPtrSet<const Value *, 16> Seen;
  walk(Pointer, Result, Seen);
  return Result;
}

/// True if \p Call reaches code that other units know by the name of \p Callee, which it sets.
bool KeyNames::outsiders(const CallBase &Call, const Function *&Callee) {
  Callee = calledFunction(Call);
  if (!Callee || Callee->isIntrinsic() || !isExported(*Callee) ||
      (Call.hasFnAttr(SiteIdAttr) && !Wrappers.isContext(Call)) ||
      Callee->getName().starts_with("_Zd") || Callee->getName().starts_with("__smalloc_") ||
      Callee->getName().starts_with("_FortranA")) // flang's runtime has no summaries
    return false;
  LibFunc Known;
  return !FAM.getResult<TargetLibraryAnalysis>(*const_cast<Function *>(Call.getFunction()))
              .getLibFunc(*Callee, Known);
}

/// Returns the pointer through which \p Call calls if it is an argument or was loaded from a place
/// that has a key; else null.
const Value *KeyNames::throughPlace(const CallBase &Call) {
  const Value *Called = Call.getCalledOperand();
  auto *Load = dyn_cast<LoadInst>(Called);
  if (Call.isInlineAsm() ||
      !(isa<Argument>(Called) ||
        (Load && (fieldKey(*Load) || isa<GlobalVariable>(Load->getPointerOperand())))))
    return nullptr;
  return Called;
}

/// Returns the keys by which other units know argument \p K of the function that \p Call calls.
SmallVector<uint64_t, 2> KeyNames::namesOfArgument(const CallBase &Call, unsigned K) {
  const Function *Callee;
  if (outsiders(Call, Callee))
    return {argumentKey(*Callee, K)};
  SmallVector<uint64_t, 2> Keys;
  if (Callee || Call.isInlineAsm())
    return Keys;
  for (const Function *Reached : Origins.calleesOf(Call))
    if (isExported(*Reached) && K < Reached->arg_size())
      Keys.push_back(argumentKey(*Reached, K));
  if (const uint64_t Virtual = virtualKeyOf(Call, static_cast<int>(K)))
    Keys.push_back(Virtual);
  for (KeyRoot Place : rootsOf(Call.getCalledOperand()))
    if (!Place.Contents)
      Keys.push_back(throughKey(Place.Key, K));
  return Keys;
}

void KeyNames::walk(const Value *V, Roots &Out, SmallPtrSetImpl<const Value *> &Seen) {
  auto Add = [&](KeyRoot R) {
    if (Out.size() < MaxRoots && !is_contained(Out, R))
      Out.push_back(R);
  };
  SmallVector<const Value *, 8> Stack{V};
  while (!Stack.empty() && Seen.size() < MaxWalk) {
    const Value *At = Stack.pop_back_val()->stripPointerCastsAndAliases();
    if (!Seen.insert(At).second)
      continue;
    if (auto *G = dyn_cast<GEPOperator>(At)) {
      Stack.push_back(G->getPointerOperand());
    } else if (isa<AllocaInst, GlobalVariable>(At)) {
      if (uint64_t Block = blockKey(*At))
        Add({Block, false});
    } else if (auto *A = dyn_cast<Argument>(At)) {
      const Function &F = *A->getParent();
      if (isExported(F)) {
        Add({argumentKey(F, A->getArgNo()), false});
      } else {
        for (const Use &U : F.uses())
          if (auto *Call = dyn_cast<CallBase>(U.getUser());
              Call && Call->isCallee(&U) && A->getArgNo() < Call->arg_size())
            Stack.push_back(Call->getArgOperand(A->getArgNo()));
        for (const CallBase *Call : Origins.indirectCallsOf(F))
          Stack.push_back(Call->getArgOperand(A->getArgNo()));
      }
    } else if (auto *Call = dyn_cast<CallBase>(At)) {
      const Function *Callee = nullptr;
      if (const Value *Same = Call->getReturnedArgOperand())
        Stack.push_back(Same);
      else if (Wrappers.isContext(*Call)) {
        Callee = calledFunction(*Call);
        const AllocationWrapper *W = Wrappers.find(Callee);
        if (W ? W->Condition && isExported(*Callee) : !isDeclaredFresh(*Callee))
          Add({otherwiseKey(*Callee), false});
      } else if (outsiders(*Call, Callee))
        Add({resultKey(*Callee), false});
      else if (Callee = calledFunction(*Call); Callee && Callee->hasLocalLinkage())
        for (const BasicBlock &Block : *Callee)
          if (auto *Return = dyn_cast<ReturnInst>(Block.getTerminator());
              Return && Return->getReturnValue() &&
              Return->getReturnValue()->getType()->isPointerTy())
            Stack.push_back(Return->getReturnValue());
      for (const Function *Reached : Origins.calleesOf(*Call))
        if (isExported(*Reached))
          Add({resultKey(*Reached), false});
      if (const uint64_t Virtual = Callee ? 0 : virtualKeyOf(*Call, -1))
        Add({Virtual, false});
      // The result of a function pointer's call has the key of the pointer's contents.
      if (const Value *Through = Callee ? nullptr : throughPlace(*Call)) {
        Roots Of;
        walk(Through, Of, Seen);
        for (KeyRoot R : Of)
          Add({R.Key, true});
      }
    } else if (auto *Load = dyn_cast<LoadInst>(At)) {
      if (std::optional<uint64_t> Field = fieldKey(*Load)) {
        Add({*Field, false});
      } else if (isa<GlobalVariable>(getUnderlyingObject(Load->getPointerOperand()))) {
        for (KeyRoot R : memoryOf(*Load))
          Add(R);
      } else {
        Roots Through;
        walk(Load->getPointerOperand(), Through, Seen);
        for (KeyRoot R : Through)
          Add({R.Key, true});
      }
    } else if (isa<PHINode, SelectInst>(At)) {
      for (const Use &Op : cast<User>(At)->operands())
        if (Op->getType()->isPointerTy())
          Stack.push_back(Op);
    }
  }
}

std::vector<uint64_t> KeyNames::argumentsFromElsewhere() {
  std::vector<uint64_t> Keys;
  std::set<uint64_t> Seen;
  for (Function &F : M)
    for (Instruction &I : instructions(F)) {
      auto *Call = dyn_cast<CallBase>(&I);
      const Function *Callee;
      if (!Call || !outsiders(*Call, Callee))
        continue;
      for (unsigned K = 0; K < Call->arg_size(); ++K) {
        const Value *V = Call->getArgOperand(K);
        if (!V->getType()->isPointerTy() || isa<ConstantPointerNull, UndefValue, Function>(V))
          continue;
        const PointerOrigins::Answer &From = Origins.originsOf(V);
        if (isa<AllocaInst, GlobalVariable>(getUnderlyingObject(V)) ||
            (From.Sites.empty() && !From.Unknown))
          if (uint64_t Key = argumentKey(*Callee, K); Seen.insert(Key).second)
            Keys.push_back(Key);
      }
    }
  return Keys;
}

void KeyNames::collectFlows(KeyedSummary &Out, function_ref<uint64_t(const CallBase *)> NodeOf) {
  DenseSet<std::tuple<uint64_t, uint64_t, unsigned>> Seen;
  std::vector<KeyedSummary::Flow> OfKeys;
  auto Emit = [&](std::vector<KeyedSummary::Flow> &List, uint64_t From, uint64_t To,
                  unsigned Flags) {
    if (From && To && (From != To || Flags) && List.size() < MaxFlows &&
        Seen.insert({From, To, Flags}).second)
      List.push_back({From, To, Flags});
  };
  auto FlowInto = [&](const Value *V, KeyRoot To, const CallBase *HandedOut = nullptr) {
    if (!V->getType()->isPointerTy() || isa<ConstantPointerNull, UndefValue>(V))
      return;
    const unsigned ToFlag = To.Contents ? SMALLOC_FLOW_TO_CONTENTS : 0;
    for (const Function *F : Origins.functionsOf(V)) {
      if (F->getReturnType()->isPointerTy()) // its result flows into the pointer's contents
        Emit(OfKeys, resultKey(*F), To.Key, SMALLOC_FLOW_TO_CONTENTS);
      if (!To.Contents && isExported(*F))
        for (const Argument &A : F->args())
          if (A.getType()->isPointerTy())
            Emit(OfKeys, throughKey(To.Key, A.getArgNo()), argumentKey(*F, A.getArgNo()), 0);
    }
    if (isa<Function>(V))
      return;
    for (const CallBase *Site : Origins.originsOf(V).Sites)
      Emit(Out.Flows, NodeOf(Site), To.Key, ToFlag);
    if (!To.Contents)
      for (const CallBase *Site : Origins.contentsOf(V))
        if (Site != HandedOut)
          Emit(Out.Flows, NodeOf(Site), To.Key, SMALLOC_FLOW_TO_CONTENTS);
    for (KeyRoot From : rootsOf(V))
      if (!(From == To))
        Emit(OfKeys, From.Key, To.Key, ToFlag | (From.Contents ? SMALLOC_FLOW_FROM_CONTENTS : 0));
  };
  for (Function &F : M) {
    if (F.isDeclaration() || F.hasAvailableExternallyLinkage())
      continue;
    const bool Returns = isExported(F) || (F.hasLocalLinkage() && F.hasAddressTaken());
    for (Instruction &I : instructions(F)) {
      if (auto *Store = dyn_cast<StoreInst>(&I)) {
        if (!Store->getValueOperand()->getType()->isPointerTy())
          continue;
        for (KeyRoot To : memoryOf(*Store))
          FlowInto(Store->getValueOperand(), To);
        // Memory of a site of this unit: other units may follow the pointers stored in it.
        if (!fieldKey(*Store))
          for (const CallBase *Owner : Origins.originsOf(Store->getPointerOperand()).Sites)
            if (uint64_t Node = NodeOf(Owner))
              FlowInto(Store->getValueOperand(), {Node, true});
      } else if (auto *Copy = dyn_cast<AnyMemTransferInst>(&I)) {
        // Copies of descriptors and structures, through local memory and variables.
        for (KeyRoot To : rootsOf(Copy->getRawDest()))
          for (KeyRoot From : rootsOf(Copy->getRawSource()))
            if (Blocks.contains(To.Key) || Blocks.contains(From.Key))
              Emit(OfKeys, From.Key, To.Key, SMALLOC_FLOW_FROM_CONTENTS | SMALLOC_FLOW_TO_CONTENTS);
      } else if (auto *Call = dyn_cast<CallBase>(&I)) {
        if (const int Handed = Call->hasFnAttr(SiteIdAttr) ? Wrappers.outArgument(*Call) : -1;
            Handed >= 0) {
          const unsigned At = static_cast<unsigned>(Handed);
          for (KeyRoot To : pointersAt(Call->getArgOperand(At)))
            Emit(Out.Flows, NodeOf(Call), To.Key, To.Contents ? SMALLOC_FLOW_TO_CONTENTS : 0);
          Emit(Out.Flows, NodeOf(Call), memberBlocks(Call->getArgOperand(At), *Call, At).second,
               SMALLOC_FLOW_TO_CONTENTS);
        }
        const Function *Callee;
        // The pointers that another unit's wrapper stores in the memory that it returns.
        if (outsiders(*Call, Callee) && Wrappers.isContext(*Call) && Callee->isDeclaration() &&
            Call->getType()->isPointerTy())
          Emit(OfKeys, resultKey(*Callee), NodeOf(Call),
               SMALLOC_FLOW_FROM_CONTENTS | SMALLOC_FLOW_TO_CONTENTS);
        for (unsigned K = 0; K < Call->arg_size(); ++K)
          if (const Value *Argument = Call->getArgOperand(K); Argument->getType()->isPointerTy())
            for (uint64_t Key : namesOfArgument(*Call, K)) {
              FlowInto(Argument, {Key, false}, Call); // not the block that this call itself gets
              auto [Found, Put] = memberBlocks(Argument, *Call, K);
              Emit(OfKeys, Found, Key, 0);
              Emit(OfKeys, Put, Key, 0);
            }
      } else if (auto *Return = dyn_cast<ReturnInst>(&I)) {
        if (Returns && Return->getReturnValue())
          FlowInto(Return->getReturnValue(), {resultKey(F), false});
      }
    }
  }
  // A constructor has two names: callers use the one for whole objects, but the definition has the
  // one for base class parts.
  for (const GlobalAlias &A : M.aliases())
    if (auto *F = dyn_cast<Function>(A.getAliasee()->stripPointerCastsAndAliases());
        F && !A.hasLocalLinkage() && isExported(*F))
      for (const Argument &Given : F->args())
        if (Given.getType()->isPointerTy())
          Emit(OfKeys, argumentKey(A.getName(), Given.getArgNo()),
               argumentKey(*F, Given.getArgNo()), 0);
  for (const AllocationWrapper *W : Wrappers.all()) {
    // Uses the linkage name, by which readers recognise contexts that call a real wrapper.
    std::string Whose = W->F->hasLocalLinkage() ? (" " + unitName(M)).str() : std::string();
    uint64_t Exact =
        key("wrapper " + W->F->getName() + Whose, [&] { return W->F->getName().str(); });
    uint64_t Result = isExported(*W->F) && W->Exported ? resultKey(*W->F) : Exact;
    Out.Flows.push_back(
        {Result, Exact, SMALLOC_FLOW_WRAPPER | (W->Condition ? SMALLOC_FLOW_CONDITIONAL : 0)});
    if (W->Condition)
      Out.Flows.push_back({resultKey(*W->Condition), Result, SMALLOC_FLOW_IF_WRAPPER});
  }
  relateTables([&](uint64_t From, uint64_t To) { Emit(OfKeys, From, To, 0); });
  // A block's contents and its places' pointers flow into each other.
  for (auto &[Object, Place] : Places)
    for (uint64_t Key : Place.Block ? ArrayRef(Place.Pointers) : ArrayRef<uint64_t>()) {
      Emit(Out.Flows, Key, Place.Block, SMALLOC_FLOW_TO_CONTENTS);
      Emit(Out.Flows, Place.Block, Key, SMALLOC_FLOW_FROM_CONTENTS);
    }
  relateBlocks(
      [&](uint64_t From, uint64_t To, unsigned Flags) { Emit(Out.Flows, From, To, Flags); });
  // Flows from sites come first: without a site to start from, flows between keys are useless.
  for (const KeyedSummary::Flow &Flow : OfKeys)
    if (Out.Flows.size() < MaxFlows)
      Out.Flows.push_back(Flow);
  for (auto [Result, Key] : Otherwise)
    Out.Flows.push_back({Result, Key, SMALLOC_FLOW_UNLESS_WRAPPER});
}

void KeyNames::relateMembers(KeyedSummary &Out) {
  for (auto [From, To] : Relations)
    if (Out.Flows.size() < MaxFlows)
      Out.Flows.push_back({From, To, 0});
}

} // namespace smalloc
