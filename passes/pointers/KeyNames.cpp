//===- KeyNames.cpp - keys of places, by name ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes the keys of arguments, results, places in globals, and fields. A key is the xxh3 hash of
// linkage names and of the type tags of accesses, which all units of a program agree on.
// KeyedSummary.cpp finds the places that a pointer comes from.
//===----------------------------------------------------------------------===//
#include "passes/ir/TypeTags.h"
#include "passes/ir/UnitName.h"
#include "passes/pointers/KeyedSummary.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/xxhash.h"

using namespace llvm;

namespace smalloc {
namespace {

bool carriesPointer(const Type *T) {
  if (auto *A = dyn_cast<ArrayType>(T))
    return carriesPointer(A->getElementType());
  return T->isPtrOrPtrVectorTy() || any_of(T->subtypes(), carriesPointer);
}

/// Returns the name and the members of a structure. C structures of one name in two units may
/// differ in their members.
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

/// Returns the key of the text \p Exact. \p Name returns the readable name; it is called once per
/// key. The readable name ends with a linkage name. Demangling all names would take longer than the
/// rest of this file, so only the few names that are printed are demangled.
uint64_t KeyNames::key(const Twine &Exact, function_ref<std::string()> Name) {
  SmallString<128> Buffer;
  uint64_t Hash = xxh3_64bits(Exact.toStringRef(Buffer));
  auto [It, New] = Names.try_emplace(Hash);
  if (New)
    It->second = Name();
  return Hash;
}

uint64_t KeyNames::argumentKey(StringRef Function, unsigned K) {
  return key("argument " + Twine(K) + " of " + Function,
             [&] { return ("argument " + Twine(K + 1) + " of " + Function).str(); });
}
uint64_t KeyNames::argumentKey(const Function &F, unsigned K) {
  return F.hasLocalLinkage() ? argumentKey(F.getName().str() + ownOf(F), K)
                             : argumentKey(F.getName(), K);
}
uint64_t KeyNames::resultKey(const Function &F) {
  return key("result of " + F.getName() + ownOf(F),
             [&] { return ("result of " + F.getName()).str(); });
}
/// Returns the key of argument \p K of the function that the pointer at \p Place points to.
uint64_t KeyNames::throughKey(uint64_t Place, unsigned K) {
  if (auto It = CalledThrough.find(Place); It != CalledThrough.end())
    Place = It->second;
  return key("argument " + Twine(K) + " through " + utohexstr(Place), [&] {
    return ("argument " + Twine(K + 1) + " of what is called through " + Names.lookup(Place)).str();
  });
}
/// Returns a suffix that makes the name of a local symbol differ from the same name in other units.
std::string KeyNames::ownOf(const GlobalValue &G) {
  return G.hasLocalLinkage() ? (" " + unitName(M)).str() : std::string();
}
/// Returns the key of the result of a function that a context calls. It holds if no unit of the
/// image says that the function is a wrapper.
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

/// Returns the key of the memory of \p Object, a global or local variable whose address is passed
/// on; 0 if it holds no pointers.
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

/// Returns the keys of the pointer at \p Level: for stores that do not know the enclosing class,
/// and for loads.
KeyNames::Member KeyNames::memberAt(const MemberLevel &Level) {
  auto [It, New] =
      Described.try_emplace({Level.Class, Level.Struct, 2 * Level.Offset + Level.Variable});
  if (New)
    It->second = describeMember(Level);
  return It->second;
}

KeyNames::Member KeyNames::describeMember(const MemberLevel &Level) {
  // C++ allows one definition of a class, so its name identifies it. Its layout may be incomplete:
  // a unit may use only containers of it, or its loads may have lost their tags when they were
  // moved out of a loop.
  const bool ByName = isClassName(Level.Class);
  uint64_t &Whole = Identities[{Level.Class, ByName ? nullptr : Level.Struct}];
  if (!Whole)
    Whole = xxh3_64bits(ByName ? Level.Class.str() : layoutOf(Level.Struct));
  auto Readable = [&] {
    StringRef Plain = Level.Class;
    std::string Text =
        Plain.consume_front("_ZTS")
            ? demangle(("_Z" + Plain).str()) // demangle() returns unknown names unchanged
            : Level.Class.str();
    if (StringRef(Text).starts_with("_Z")) {
      StringRef Digits = Plain.take_while(isDigit);
      Text = Plain.drop_front(Digits.size()).str();
    }
    return ((Level.Variable ? "elements from byte " : "byte ") + Twine(Level.Offset) +
            (Text.empty() ? " of an unnamed struct" : " of struct ") + Text)
        .str();
  };
  const std::string Exact = std::string(Level.Variable ? "any " : "") +
                            (ByName ? "member " : "field ") + utostr(Level.Offset) + ' ' +
                            utohexstr(Whole);
  return {key(Exact, Readable), key("read " + Exact, Readable), Whole, Level.Offset};
}

/// Returns the outermost member of \p Path, and records the flows between the levels. A store
/// through a pointer to an inner member may be to any class that has that member. A store by the
/// whole path is found by loads that know fewer levels, but not in other members of the same kind.
KeyNames::Member KeyNames::memberOf(const MemberPath &Path, bool Reads) {
  const Member Outer = memberAt(Path.front());
  auto Note = [&](const Member &New) {
    if (SmallVector<Member, 2> &Known = Members[New.Class];
        none_of(Known, [&](const Member &M) { return M.Written == New.Written; }))
      Known.push_back(New);
  };
  Note(Outer);
  // A pointer in one element of an array may be loaded with a variable index, and the reverse.
  if (MemberLevel Some = Path.front(); Some.InFirst && !Some.Variable) {
    Some.Offset = *Some.InFirst;
    Some.Variable = true;
    const Member Any = memberAt(Some);
    Note(Any);
    Relations.insert({Outer.Written, Any.Read});
    Relations.insert({Any.Written, Outer.Read});
  }
  if (Path.size() == 1 && !Reads)
    return Outer;
  Relations.insert({Outer.Written, Outer.Read});
  const uint64_t Innermost = memberAt(Path.back()).Written;
  Member Out = Outer;
  for (const MemberLevel &Level : drop_begin(Path)) {
    const Member In = memberAt(Level);
    Relations.insert({In.Written, Out.Written});
    Relations.insert({Out.Read, In.Read});
    CalledThrough[Out.Written] = CalledThrough[Out.Read] = Innermost;
    Out = In;
  }
  CalledThrough[Out.Read] = Innermost;
  return Outer;
}

/// Returns the key of the member that \p Access loads a pointer from or stores it to, by the
/// outermost known class.
std::optional<uint64_t> KeyNames::fieldKey(const Instruction &Access, unsigned Lane) {
  auto [It, New] = Fields.try_emplace({&Access, Lane});
  if (!New)
    return It->second;
  std::optional<uint64_t> Found;
  const bool Reads = isa<LoadInst>(Access);
  if (MemberPath Path = Paths.of(Access, Lane); !Path.empty()) {
    const Member Of = memberOf(Path, Reads);
    Found = Reads ? Of.Read : Of.Written;
  }
  return Fields[{&Access, Lane}] = Found;
}

/// Describes the member at \p Address, passed as argument \p K of \p Call, as two blocks of memory.
/// The first holds what the callee loads from the member, the second what it stores there. With one
/// block, any pointer in the member would flow to all others. Returns zeros if there is no member.
std::pair<uint64_t, uint64_t> KeyNames::memberBlocks(const Value *Address, const CallBase &Call,
                                                     unsigned K) {
  uint64_t Bytes;
  MemberPath Path = Paths.handedOn(Address, Call, K, Bytes);
  if (Path.empty())
    return {0, 0};
  const Member Of = memberOf(Path, /*Reads=*/true);
  const std::string Exact = utostr(Of.Written) + ' ' + utostr(Bytes);
  auto Name = [&] { return Names.lookup(Of.Written); };
  const uint64_t Found = key("memory of " + Exact, Name), Put = key("memory for " + Exact, Name);
  HandedOn[{Found, Put}] = {Of, Bytes};
  Blocks.insert(Found);
  Blocks.insert(Put);
  return {Found, Put};
}

/// Emits the flows from members that were passed on into the contents of their first block, and
/// from the contents of their second block into the members.
void KeyNames::relateBlocks(function_ref<void(uint64_t From, uint64_t To, unsigned Flags)> Emit) {
  for (auto &[Of, Block] : HandedOn)
    for (const Member &In : Members[Block.Of.Class])
      if (In.Offset == Block.Of.Offset ||
          (In.Offset > Block.Of.Offset && In.Offset - Block.Of.Offset < Block.Bytes)) {
        Emit(In.Read, Of.first, SMALLOC_FLOW_TO_CONTENTS);
        Emit(Of.second, In.Written, SMALLOC_FLOW_FROM_CONTENTS);
      }
}

} // namespace smalloc
