//===- KeyNames.cpp - what a place is called in every unit -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the key of an argument, a result, a place in a global and a field: by linkage names and the type tags of
// accesses, which units of one program agree on. Where pointers come from is KeyedSummary.cpp's.
//===----------------------------------------------------------------------===//
#include "passes/ir/UnitName.h"
#include "passes/pointers/KeyedSummary.h"
#include "llvm/ADT/STLExtras.h"
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

uint64_t KeyNames::argumentKey(StringRef Function, unsigned K) {
  return key("argument " + Twine(K) + " of " + Function,
             [&] { return ("argument " + Twine(K + 1) + " of " + Function).str(); });
}
uint64_t KeyNames::resultKey(const Function &F) {
  return key("result of " + F.getName() + ownOf(F),
             [&] { return ("result of " + F.getName()).str(); });
}
/// What the function that a pointer at \p Place points to gets as an argument.
uint64_t KeyNames::throughKey(uint64_t Place, unsigned K) {
  if (auto It = CalledThrough.find(Place); It != CalledThrough.end())
    Place = It->second;
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

/// The pointer at \p Level, where stores that know of nothing around it put it, and where loads find it.
KeyNames::Member KeyNames::memberAt(const MemberLevel &Level) {
  auto [It, New] =
      Described.try_emplace({Level.Class, Level.Struct, 2 * Level.Offset + Level.Variable});
  if (New)
    It->second = describeMember(Level);
  return It->second;
}

KeyNames::Member KeyNames::describeMember(const MemberLevel &Level) {
  // C++ allows one definition of a class: its name tells it apart. A unit that uses but its containers, or whose loads lost their tags
  // on the way out of a loop, does not show the rest of it.
  const bool ByName = isClassName(Level.Class);
  uint64_t &Whole = Identities[{Level.Class, ByName ? nullptr : Level.Struct}];
  if (!Whole)
    Whole = xxh3_64bits(ByName ? Level.Class.str() : layoutOf(Level.Struct));
  auto Readable = [&] {
    StringRef Plain = Level.Class;
    std::string Text = Plain.consume_front("_ZTS")
                           ? demangle(("_Z" + Plain).str()) // of a type: kept as it is if unknown
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

/// The outermost member of \p Path. What is stored by a pointer to something inside may be in any class that has it; what is
/// stored by the whole path is found by whoever looks for less of it, but not in the other members of the same kind.
KeyNames::Member KeyNames::memberOf(const MemberPath &Path, bool Reads) {
  const Member Outer = memberAt(Path.front());
  auto Note = [&](const Member &New) {
    if (SmallVector<Member, 2> &Known = Members[New.Class];
        none_of(Known, [&](const Member &M) { return M.Written == New.Written; }))
      Known.push_back(New);
  };
  Note(Outer);
  // What one element of an array has, some element has, and the other way round.
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

/// The member that \p Access finds or puts a pointer in, by the outermost class that it is known to be in.
std::optional<uint64_t> KeyNames::fieldKey(const Instruction &Access) {
  auto [It, New] = Fields.try_emplace(&Access);
  if (!New)
    return It->second;
  std::optional<uint64_t> Found;
  const bool Reads = isa<LoadInst>(Access);
  if (MemberPath Path = Paths.of(Access); !Path.empty()) {
    const Member Of = memberOf(Path, Reads);
    Found = Reads ? Of.Read : Of.Written;
  }
  return Fields[&Access] = Found;
}

/// The member at \p Address, which is handed on as argument \p K of \p Call, as two blocks of memory: what the callee finds in it,
/// and what it puts there. One alone would be a way from any pointer in the member to all others. Zeros if it is none.
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

/// What the memory of members that were handed on holds is what their pointers point to, and the other way round.
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
