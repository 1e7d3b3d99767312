//===- KeyNames.cpp - what a place is called in every unit -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the key of an argument, a result, a place in a global and a field: by linkage names and the type tags of
// accesses, which units of one program agree on. Where pointers come from is KeyedSummary.cpp's.
//===----------------------------------------------------------------------===//
#include "KeyedSummary.h"
#include "UnitName.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/Support/xxhash.h"

using namespace llvm;

namespace smalloc {
namespace {

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
  return G.hasLocalLinkage() ? (" " + unitName(M)).str() : std::string();
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
  Key = key("local " + Twine(Number) + " of " + F.getName() + " " + unitName(M),
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

} // namespace smalloc
