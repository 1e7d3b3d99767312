//===- KeyedSummary.cpp - pointers that cross the unit's borders ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "KeyedSummary.h"
#include "AllocationSites.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/Support/xxhash.h"
#include <set>

using namespace llvm;

namespace smalloc {
namespace {

/// Values looked at on the way back from one pointer; beyond it the keys found so far must do.
constexpr unsigned MaxWalk = 64;
/// Keys of one pointer. A pointer that may come from more places tells little.
constexpr size_t MaxRoots = 8;
/// Bounds of a unit's summary, 24 bytes a flow: a generated unit of 100,000 calls must not outweigh its code.
constexpr size_t MaxFlows = 4096;

const Function *calledFunction(const CallBase &Call) {
  return dyn_cast<Function>(Call.getCalledOperand()->stripPointerCastsAndAliases());
}

bool isExported(const Function &F) { return !F.hasLocalLinkage() && F.getName() != "main"; }

/// Type names that say nothing about who uses the memory, or that other units mean something else by.
bool tellsNothing(StringRef TypeName) {
  return TypeName.empty() || TypeName.starts_with("_ZTSSt") || TypeName.starts_with("_ZTSNSt") ||
         TypeName.starts_with("_ZTSNKSt") || TypeName.starts_with("_ZTSN9__gnu_cxx") ||
         TypeName.contains("_GLOBAL__N_");
}

const MDNode *nodeOperand(const MDNode *N, unsigned I) {
  return I < N->getNumOperands() ? dyn_cast_or_null<MDNode>(N->getOperand(I).get()) : nullptr;
}
StringRef typeName(const MDNode *Type) {
  auto *Name =
      Type->getNumOperands() ? dyn_cast_or_null<MDString>(Type->getOperand(0).get()) : nullptr;
  return Name ? Name->getString() : "";
}

/// Name and members of a structure: two structures of one name in C are told apart by what they hold.
std::string layoutOf(const MDNode *Struct) {
  std::string Text = typeName(Struct).str();
  for (unsigned I = 1; I + 1 < Struct->getNumOperands(); I += 2) {
    if (const MDNode *Member = nodeOperand(Struct, I))
      Text += (Twine('\n') + typeName(Member)).str();
    if (auto *Offset = mdconst::dyn_extract_or_null<ConstantInt>(Struct->getOperand(I + 1)))
      Text += (Twine(' ') + Twine(Offset->getZExtValue())).str();
  }
  return Text;
}

} // namespace

/// \p Exact: what tells the key apart; \p Name: for people, asked for once.
uint64_t KeyNames::key(const Twine &Exact, function_ref<std::string()> Name) {
  SmallString<128> Buffer;
  uint64_t Hash = xxh3_64bits(Exact.toStringRef(Buffer));
  auto [It, New] = Names.try_emplace(Hash);
  if (New)
    It->second = Name();
  return Hash;
}

uint64_t KeyNames::argumentKey(const Function &F, unsigned K) {
  return key("argument " + Twine(K) + " of " + F.getName(),
             [&] { return ("argument " + Twine(K + 1) + " of " + demangle(F.getName())).str(); });
}
uint64_t KeyNames::resultKey(const Function &F) {
  return key("result of " + F.getName(), [&] { return "result of " + demangle(F.getName()); });
}
/// The result of a function that a context calls, if no unit of the image says that it is a wrapper.
uint64_t KeyNames::otherwiseKey(const Function &F) {
  uint64_t Key = key("otherwise result of " + F.getName(),
                     [&] { return "result of " + demangle(F.getName()); });
  Otherwise[resultKey(F)] = Key;
  return Key;
}
uint64_t KeyNames::globalKey(const GlobalVariable &G, int64_t Offset) {
  std::string Exact = ("global " + G.getName() + " " + Twine(Offset)).str();
  if (G.hasLocalLinkage()) // nobody else's
    Exact += ' ' + M.getSourceFileName();
  return key(Exact, [&] {
    return (Offset ? "byte " + itostr(Offset) + " of global " : std::string("global ")) +
           demangle(G.getName());
  });
}

/// The field that the type tag of \p Access names, in the innermost structure that has a name.
std::optional<uint64_t> KeyNames::fieldKey(const Instruction &Access) {
  const MDNode *Tag = Access.getMetadata(LLVMContext::MD_tbaa);
  if (!Tag)
    return std::nullopt;
  auto [It, New] = Fields.try_emplace(Tag);
  if (New)
    It->second = fieldOf(Tag);
  return It->second;
}

std::optional<uint64_t> KeyNames::fieldOf(const MDNode *Tag) {
  if (Tag->getNumOperands() < 3 || Tag->getOperand(0) == Tag->getOperand(1))
    return std::nullopt;
  const MDNode *Struct = nodeOperand(Tag, 0), *Accessed = nodeOperand(Tag, 1);
  auto *At = mdconst::dyn_extract_or_null<ConstantInt>(Tag->getOperand(2));
  if (!Struct || !Accessed || !At)
    return std::nullopt;
  uint64_t Offset = At->getZExtValue();
  for (unsigned Depth = 0; Depth < 8; ++Depth) {
    const MDNode *Member = nullptr;
    uint64_t Start = 0;
    for (unsigned I = 1; I + 1 < Struct->getNumOperands(); I += 2) {
      auto *C = mdconst::dyn_extract_or_null<ConstantInt>(Struct->getOperand(I + 1));
      if (C && C->getZExtValue() <= Offset && nodeOperand(Struct, I)) {
        Member = nodeOperand(Struct, I);
        Start = C->getZExtValue();
      }
    }
    // A scalar's node has its parent where a structure has its first member: the accessed type ends the way down.
    if (!Member || Member == Accessed || Member->getNumOperands() < 3 ||
        typeName(Member) == "omnipotent char" || typeName(Member) == "any pointer")
      break;
    Struct = Member;
    Offset -= Start;
  }
  StringRef Name = typeName(Struct);
  if (tellsNothing(Name))
    return std::nullopt;
  return key("field " + utostr(Offset) + ' ' + layoutOf(Struct), [&] {
    StringRef Plain = Name;
    std::string Readable =
        Plain.consume_front("_ZTS")
            ? demangle(("_Z" + Plain).str()) // of a type: kept as it is if unknown
            : Name.str();
    if (StringRef(Readable).starts_with("_Z")) {
      StringRef Digits = Plain.take_while(isDigit);
      Readable = Plain.drop_front(Digits.size()).str();
    }
    return ("byte " + Twine(Offset) + " of struct " + Readable).str();
  });
}

SmallVector<KeyRoot, 2> KeyNames::memoryOf(const Instruction &Access) {
  if (std::optional<uint64_t> Field = fieldKey(Access))
    return {{*Field, false}};
  const Value *Address = getLoadStorePointerOperand(&Access);
  if (!Address)
    return {};
  APInt Offset(Layout.getIndexTypeSizeInBits(Address->getType()), 0);
  const Value *Base =
      Address->stripAndAccumulateConstantOffsets(Layout, Offset, /*AllowNonInbounds=*/true);
  if (auto *G = dyn_cast<GlobalVariable>(Base))
    return {{globalKey(*G, Offset.getSExtValue()), false}};
  Roots Result;
  for (KeyRoot R : rootsOf(Address)) {
    R.Contents = true; // deeper levels are one
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

/// True if \p Call reaches code that other units know by the name of \p Callee.
bool KeyNames::outsiders(const CallBase &Call, const Function *&Callee) {
  Callee = calledFunction(Call);
  if (!Callee || Callee->isIntrinsic() || !isExported(*Callee) ||
      (Call.hasFnAttr(SiteIdAttr) && !Wrappers.isContext(Call)) ||
      Callee->getName().starts_with("_Zd") || Callee->getName().starts_with("__smalloc_"))
    return false;
  LibFunc Known;
  return !FAM.getResult<TargetLibraryAnalysis>(*const_cast<Function *>(Call.getFunction()))
              .getLibFunc(*Callee, Known);
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
    } else if (auto *A = dyn_cast<Argument>(At)) {
      const Function &F = *A->getParent();
      if (isExported(F)) {
        Add({argumentKey(F, A->getArgNo()), false});
      } else {
        for (const Use &U : F.uses())
          if (auto *Call = dyn_cast<CallBase>(U.getUser());
              Call && Call->isCallee(&U) && A->getArgNo() < Call->arg_size())
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
    } else if (auto *Load = dyn_cast<LoadInst>(At)) {
      std::optional<uint64_t> Field = fieldKey(*Load);
      const Value *Object = getUnderlyingObject(Load->getPointerOperand());
      if (Field) {
        Add({*Field, false});
      } else if (isa<AllocaInst>(Object)) {
        walkAlloca(Object, Out);
      } else if (isa<GlobalVariable>(Object)) {
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

/// What an outsider stored through a pointer to a local variable (an out-parameter).
void KeyNames::walkAlloca(const Value *Slot, Roots &Out) {
  for (const Use &U : Slot->uses()) {
    auto *Call = dyn_cast<CallBase>(U.getUser());
    const Function *Callee;
    if (!Call || !Call->isArgOperand(&U) || !outsiders(*Call, Callee) || Out.size() >= MaxRoots)
      continue;
    KeyRoot R{argumentKey(*Callee, Call->getArgOperandNo(&U)), true};
    if (!is_contained(Out, R))
      Out.push_back(R);
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
        PointerOrigins::Answer From = Origins.originsOf(V);
        if (isa<AllocaInst, GlobalVariable>(getUnderlyingObject(V)) ||
            (From.Sites.empty() && !From.Unknown))
          if (uint64_t Key = argumentKey(*Callee, K); Seen.insert(Key).second)
            Keys.push_back(Key);
      }
    }
  return Keys;
}

void KeyNames::collectFlows(KeyedSummary &Out, function_ref<uint64_t(const CallBase *)> NodeOf) {
  std::set<std::tuple<uint64_t, uint64_t, unsigned>> Seen;
  std::vector<KeyedSummary::Flow> OfKeys;
  auto Emit = [&](std::vector<KeyedSummary::Flow> &List, uint64_t From, uint64_t To,
                  unsigned Flags) {
    if (From && To && (From != To || Flags) && List.size() < MaxFlows &&
        Seen.insert({From, To, Flags}).second)
      List.push_back({From, To, Flags});
  };
  auto FlowInto = [&](const Value *V, KeyRoot To) {
    if (!V->getType()->isPointerTy() || isa<ConstantPointerNull, UndefValue, Function>(V))
      return;
    const unsigned ToFlag = To.Contents ? SMALLOC_FLOW_TO_CONTENTS : 0;
    for (const CallBase *Site : Origins.originsOf(V).Sites)
      Emit(Out.Flows, NodeOf(Site), To.Key, ToFlag);
    if (!To.Contents)
      for (const CallBase *Site : Origins.contentsOf(V))
        Emit(Out.Flows, NodeOf(Site), To.Key, SMALLOC_FLOW_TO_CONTENTS);
    for (KeyRoot From : rootsOf(V))
      if (!(From == To))
        Emit(OfKeys, From.Key, To.Key, ToFlag | (From.Contents ? SMALLOC_FLOW_FROM_CONTENTS : 0));
  };
  for (Function &F : M) {
    if (F.isDeclaration() || F.hasAvailableExternallyLinkage())
      continue;
    for (Instruction &I : instructions(F)) {
      if (auto *Store = dyn_cast<StoreInst>(&I)) {
        if (!Store->getValueOperand()->getType()->isPointerTy())
          continue;
        for (KeyRoot To : memoryOf(*Store))
          FlowInto(Store->getValueOperand(), To);
        // Memory of a site of this unit: other units may follow the pointers in it.
        if (!fieldKey(*Store))
          for (const CallBase *Owner : Origins.originsOf(Store->getPointerOperand()).Sites)
            if (uint64_t Node = NodeOf(Owner))
              FlowInto(Store->getValueOperand(), {Node, true});
      } else if (auto *Call = dyn_cast<CallBase>(&I)) {
        const Function *Callee;
        if (!outsiders(*Call, Callee))
          continue;
        // What another unit's wrapper stores in the memory that it returns.
        if (Wrappers.isContext(*Call) && Callee->isDeclaration())
          Emit(OfKeys, resultKey(*Callee), NodeOf(Call),
               SMALLOC_FLOW_FROM_CONTENTS | SMALLOC_FLOW_TO_CONTENTS);
        for (unsigned K = 0; K < Call->arg_size(); ++K)
          if (Call->getArgOperand(K)->getType()->isPointerTy())
            FlowInto(Call->getArgOperand(K), {argumentKey(*Callee, K), false});
      } else if (auto *Return = dyn_cast<ReturnInst>(&I)) {
        if (isExported(F) && Return->getReturnValue())
          FlowInto(Return->getReturnValue(), {resultKey(F), false});
      }
    }
  }
  for (const AllocationWrapper *W : Wrappers.all()) {
    // By its linkage name, which tells readers which contexts are real.
    std::string Whose = W->F->hasLocalLinkage() ? ' ' + M.getSourceFileName() : std::string();
    uint64_t Exact =
        key("wrapper " + W->F->getName() + Whose, [&] { return W->F->getName().str(); });
    uint64_t Result = isExported(*W->F) && W->Exported ? resultKey(*W->F) : Exact;
    Out.Flows.push_back(
        {Result, Exact, SMALLOC_FLOW_WRAPPER | (W->Condition ? SMALLOC_FLOW_CONDITIONAL : 0)});
    if (W->Condition)
      Out.Flows.push_back({resultKey(*W->Condition), Result, SMALLOC_FLOW_IF_WRAPPER});
  }
  // Sites first: without one to start from, the flows between keys are of no use.
  for (const KeyedSummary::Flow &Flow : OfKeys)
    if (Out.Flows.size() < MaxFlows)
      Out.Flows.push_back(Flow);
  for (auto [Result, Key] : Otherwise)
    Out.Flows.push_back({Result, Key, SMALLOC_FLOW_UNLESS_WRAPPER});
}

} // namespace smalloc
