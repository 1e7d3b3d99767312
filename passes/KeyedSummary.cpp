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

bool carriesPointer(const Type *T) {
  if (auto *A = dyn_cast<ArrayType>(T))
    return carriesPointer(A->getElementType());
  return T->isPtrOrPtrVectorTy() || any_of(T->subtypes(), carriesPointer);
}

/// Is \p TypeName that of a pointer in type tags: "any pointer", "p1 int", "p2 omnipotent char"?
bool isPointerType(StringRef TypeName) {
  return TypeName == "any pointer" ||
         (TypeName.consume_front("p") && TypeName.size() > 1 && isDigit(TypeName[0]) &&
          TypeName.ltrim("0123456789").starts_with(" "));
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

/// \p Exact: what tells the key apart; \p Name: for people, asked for once. It ends with a linkage name: to demangle all of
/// them would take longer than all else that is done here, and is done for the few that somebody reads.
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
             [&] { return ("argument " + Twine(K + 1) + " of " + F.getName()).str(); });
}
uint64_t KeyNames::resultKey(const Function &F) {
  return key("result of " + F.getName() + ownOf(F),
             [&] { return ("result of " + F.getName()).str(); });
}
/// What the function that a pointer at \p Place points to gets as an argument.
uint64_t KeyNames::throughKey(uint64_t Place, unsigned K) {
  return key("argument " + Twine(K) + " through " + utohexstr(Place), [&] {
    return ("argument " + Twine(K + 1) + " of what is called through " + Names.lookup(Place)).str();
  });
}
/// What tells a name that only this unit knows from the same name in others.
std::string KeyNames::ownOf(const GlobalValue &G) {
  return G.hasLocalLinkage() ? ' ' + M.getSourceFileName() : std::string();
}
/// The result of a function that a context calls, if no unit of the image says that it is a wrapper.
uint64_t KeyNames::otherwiseKey(const Function &F) {
  uint64_t Key =
      key("otherwise result of " + F.getName(), [&] { return ("result of " + F.getName()).str(); });
  Otherwise[resultKey(F)] = Key;
  return Key;
}
uint64_t KeyNames::globalKey(const GlobalVariable &G, int64_t Offset) {
  uint64_t Key = key("global " + G.getName() + " " + Twine(Offset) + ownOf(G), [&] {
    return (Offset ? "byte " + itostr(Offset) + " of global " : std::string("global ")) +
           G.getName().str();
  });
  if (SmallVector<uint64_t, 2> &Known = Places[&G].Pointers; !is_contained(Known, Key))
    Known.push_back(Key);
  return Key;
}

/// The memory of \p Object, a variable or a local one, where it is handed on by address; 0 if it holds no pointers.
uint64_t KeyNames::blockKey(const Value &Object) {
  auto *G = dyn_cast<GlobalVariable>(&Object);
  auto *A = dyn_cast<AllocaInst>(&Object);
  if ((!G || G->isConstant() || !carriesPointer(G->getValueType())) &&
      (!A || !carriesPointer(A->getAllocatedType())))
    return 0;
  uint64_t &Key = Places[&Object].Block;
  if (Key)
    return Key;
  if (G) {
    Key = key("memory of " + G->getName() + ownOf(*G),
              [&] { return ("memory of global " + G->getName()).str(); });
    Blocks.insert(Key);
    return Key;
  }
  const Function &F = *A->getFunction();
  unsigned Number = 0;
  for (const Instruction &I : instructions(F)) {
    if (&I == A)
      break;
    Number += isa<AllocaInst>(I);
  }
  Key = key("local " + Twine(Number) + " of " + F.getName() + " " + M.getSourceFileName(),
            [&] { return ("local memory of " + F.getName()).str(); });
  Blocks.insert(Key);
  return Key;
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
  return fieldOf(Struct, At->getZExtValue(), Accessed);
}

/// The field \p Offset bytes into \p Struct that is of the type \p Accessed, or null for a pointer of any type.
std::optional<uint64_t> KeyNames::fieldOf(const MDNode *Struct, uint64_t Offset,
                                          const MDNode *Accessed) {
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
    const bool Pointer = Member && isPointerType(typeName(Member));
    if (!Accessed && (!Member || (Pointer && Start != Offset)))
      return std::nullopt;
    // A scalar's node has its parent where a structure has its first member: the accessed type ends the way down.
    if (!Member || Member == Accessed || Member->getNumOperands() < 3 ||
        typeName(Member) == "omnipotent char" || Pointer) {
      if (!Accessed && !Pointer)
        return std::nullopt;
      break;
    }
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

/// The structure that \p Pointer points to, as the type tags of accesses through it say; null if none does.
const MDNode *KeyNames::structureAt(const Value *Pointer) {
  auto [It, New] = Structures.try_emplace(Pointer, nullptr);
  if (!New)
    return It->second;
  unsigned Looked = 0;
  auto Told = [&](const User *U, uint64_t Offset) -> const MDNode * {
    const MDNode *Tag = getLoadStorePointerOperand(U)
                            ? cast<Instruction>(U)->getMetadata(LLVMContext::MD_tbaa)
                            : nullptr;
    if (!Tag || Tag->getNumOperands() < 3 || Tag->getOperand(0) == Tag->getOperand(1))
      return nullptr;
    auto *At = mdconst::dyn_extract_or_null<ConstantInt>(Tag->getOperand(2));
    return At && At->getZExtValue() == Offset ? nodeOperand(Tag, 0) : nullptr;
  };
  for (const User *U : Pointer->users()) {
    if (++Looked > MaxWalk)
      break;
    const MDNode *Found = Told(U, 0);
    APInt Offset(Layout.getIndexTypeSizeInBits(Pointer->getType()), 0);
    if (auto *G = dyn_cast<GEPOperator>(U);
        G && !Found && G->accumulateConstantOffset(Layout, Offset) && !Offset.isNegative())
      for (const User *Through : G->users())
        if (++Looked > MaxWalk || (Found = Told(Through, Offset.getZExtValue())))
          break;
    if (Found)
      return It->second = Found;
  }
  return nullptr;
}

/// The memory of the field of a pointer that \p Address is the address of, handed on as an out-parameter; 0 if of none.
uint64_t KeyNames::fieldBlock(const Value *Address) {
  APInt Offset(Layout.getIndexTypeSizeInBits(Address->getType()), 0);
  const Value *Base =
      Address->stripAndAccumulateConstantOffsets(Layout, Offset, /*AllowNonInbounds=*/true);
  if (Base == Address || Offset.isNegative() || isa<AllocaInst, Constant>(Base))
    return 0;
  const MDNode *Struct = structureAt(Base);
  std::optional<uint64_t> Field =
      Struct ? fieldOf(Struct, Offset.getZExtValue(), nullptr) : std::nullopt;
  if (!Field)
    return 0;
  uint64_t Block = key("memory of " + utostr(*Field), [&] { return Names.lookup(*Field); });
  FieldBlocks[Block] = *Field;
  Blocks.insert(Block);
  return Block;
}

SmallVector<KeyRoot, 2> KeyNames::memoryOf(const Instruction &Access) {
  if (std::optional<uint64_t> Field = fieldKey(Access))
    return {{*Field, false}};
  const Value *Address = getLoadStorePointerOperand(&Access);
  return Address ? pointersAt(Address) : Roots();
}

/// Where pointers that are stored at \p Address are found.
SmallVector<KeyRoot, 2> KeyNames::pointersAt(const Value *Address) {
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
      Callee->getName().starts_with("_Zd") || Callee->getName().starts_with("__smalloc_") ||
      Callee->getName().starts_with("_FortranA")) // its runtime: no unit of it has a summary
    return false;
  LibFunc Known;
  return !FAM.getResult<TargetLibraryAnalysis>(*const_cast<Function *>(Call.getFunction()))
              .getLibFunc(*Callee, Known);
}

/// The pointer to a function that \p Call calls, if it was found in a place that has a name.
const Value *KeyNames::throughPlace(const CallBase &Call) {
  const Value *Called = Call.getCalledOperand();
  auto *Load = dyn_cast<LoadInst>(Called);
  if (Call.isInlineAsm() ||
      !(isa<Argument>(Called) ||
        (Load && (fieldKey(*Load) || isa<GlobalVariable>(Load->getPointerOperand())))))
    return nullptr;
  return Called;
}

/// The names by which other units know argument \p K of what \p Call calls.
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
      // What a pointer to a function returns is what its memory holds.
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
  std::set<std::tuple<uint64_t, uint64_t, unsigned>> Seen;
  std::vector<KeyedSummary::Flow> OfKeys;
  auto Emit = [&](std::vector<KeyedSummary::Flow> &List, uint64_t From, uint64_t To,
                  unsigned Flags) {
    if (From && To && (From != To || Flags) && List.size() < MaxFlows &&
        Seen.insert({From, To, Flags}).second)
      List.push_back({From, To, Flags});
  };
  auto FlowInto = [&](const Value *V, KeyRoot To) {
    if (!V->getType()->isPointerTy() || isa<ConstantPointerNull, UndefValue>(V))
      return;
    const unsigned ToFlag = To.Contents ? SMALLOC_FLOW_TO_CONTENTS : 0;
    for (const Function *F : Origins.functionsOf(V)) {
      if (F->getReturnType()->isPointerTy()) // what it returns is what its memory holds
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
        Emit(Out.Flows, NodeOf(Site), To.Key, SMALLOC_FLOW_TO_CONTENTS);
    for (KeyRoot From : rootsOf(V))
      if (!(From == To))
        Emit(OfKeys, From.Key, To.Key, ToFlag | (From.Contents ? SMALLOC_FLOW_FROM_CONTENTS : 0));
  };
  for (Function &F : M) {
    if (F.isDeclaration() || F.hasAvailableExternallyLinkage())
      continue;
    const TargetLibraryInfo &TLI = FAM.getResult<TargetLibraryAnalysis>(F);
    const bool Returns = isExported(F) || (F.hasLocalLinkage() && F.hasAddressTaken());
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
      } else if (auto *Copy = dyn_cast<AnyMemTransferInst>(&I)) {
        // Descriptors and structures on their way through local memory and variables.
        for (KeyRoot To : rootsOf(Copy->getRawDest()))
          for (KeyRoot From : rootsOf(Copy->getRawSource()))
            if (Blocks.contains(To.Key) || Blocks.contains(From.Key))
              Emit(OfKeys, From.Key, To.Key, SMALLOC_FLOW_FROM_CONTENTS | SMALLOC_FLOW_TO_CONTENTS);
      } else if (auto *Call = dyn_cast<CallBase>(&I)) {
        if (Call->hasFnAttr(SiteIdAttr))
          if (std::optional<AllocFamily> Family = allocationFamily(*Call, TLI);
              Family && storesResult(*Family)) {
            for (KeyRoot To : pointersAt(Call->getArgOperand(0)))
              Emit(Out.Flows, NodeOf(Call), To.Key, To.Contents ? SMALLOC_FLOW_TO_CONTENTS : 0);
            if (uint64_t Field = fieldBlock(Call->getArgOperand(0)))
              Emit(Out.Flows, NodeOf(Call), Field, SMALLOC_FLOW_TO_CONTENTS);
          }
        const Function *Callee;
        // What another unit's wrapper stores in the memory that it returns.
        if (outsiders(*Call, Callee) && Wrappers.isContext(*Call) && Callee->isDeclaration())
          Emit(OfKeys, resultKey(*Callee), NodeOf(Call),
               SMALLOC_FLOW_FROM_CONTENTS | SMALLOC_FLOW_TO_CONTENTS);
        for (unsigned K = 0; K < Call->arg_size(); ++K)
          if (const Value *Argument = Call->getArgOperand(K); Argument->getType()->isPointerTy())
            for (uint64_t Key : namesOfArgument(*Call, K)) {
              FlowInto(Argument, {Key, false});
              if (uint64_t Field = fieldBlock(Argument))
                Emit(OfKeys, Field, Key, 0);
            }
      } else if (auto *Return = dyn_cast<ReturnInst>(&I)) {
        if (Returns && Return->getReturnValue())
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
  // What a block's memory holds is what its places hold, and the other way round.
  for (auto &[Object, Place] : Places)
    for (uint64_t Key : Place.Block ? ArrayRef(Place.Pointers) : ArrayRef<uint64_t>()) {
      Emit(Out.Flows, Key, Place.Block, SMALLOC_FLOW_TO_CONTENTS);
      Emit(Out.Flows, Place.Block, Key, SMALLOC_FLOW_FROM_CONTENTS);
    }
  for (auto [Block, Field] : FieldBlocks) {
    Emit(Out.Flows, Field, Block, SMALLOC_FLOW_TO_CONTENTS);
    Emit(Out.Flows, Block, Field, SMALLOC_FLOW_FROM_CONTENTS);
  }
  // Sites first: without one to start from, the flows between keys are of no use.
  for (const KeyedSummary::Flow &Flow : OfKeys)
    if (Out.Flows.size() < MaxFlows)
      Out.Flows.push_back(Flow);
  for (auto [Result, Key] : Otherwise)
    Out.Flows.push_back({Result, Key, SMALLOC_FLOW_UNLESS_WRAPPER});
}

} // namespace smalloc
