//===- MemberPaths.cpp - the class members that an access reads or writes ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/ir/MemberPaths.h"
#include "passes/ir/RecordedPointees.h"
#include "passes/ir/TypeTags.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Operator.h"

using namespace llvm;

namespace smalloc {
namespace {

/// Most uses of a pointer that are searched for its class.
constexpr unsigned MaxUses = 64;
/// Most structures nested in each other.
constexpr unsigned MaxDepth = 12;
constexpr uint64_t PointerBytes = 8;

/// True if \p TypeName is a pointer's in type tags: "any pointer", "p1 int", "p2 omnipotent char".
bool isPointerType(StringRef TypeName) {
  return TypeName == "any pointer" ||
         (TypeName.consume_front("p") && TypeName.size() > 1 && isDigit(TypeName[0]) &&
          TypeName.ltrim("0123456789").starts_with(" "));
}

/// Returns the type tag of \p Access if it names a member of a structure; else null.
const MDNode *memberTag(const Instruction &Access) {
  const MDNode *Tag = Access.getMetadata(LLVMContext::MD_tbaa);
  return Tag && Tag->getNumOperands() >= 3 && Tag->getOperand(0) != Tag->getOperand(1) ? Tag
                                                                                       : nullptr;
}

uint64_t offsetOf(const MDNode *Tag) {
  auto *At = mdconst::dyn_extract_or_null<ConstantInt>(Tag->getOperand(2));
  return At ? At->getZExtValue() : 0;
}

bool isDestructor(StringRef Name) {
  return Name.starts_with("_ZN") && Name.size() > 4 && Name.ends_with("Ev") &&
         isDigit(Name[Name.size() - 3]) && Name[Name.size() - 4] == 'D';
}

/// Appends to \p Out the levels of the member \p Offset bytes into \p Struct. \p Accessed is the
/// member's type; null means a pointer of any type. Returns false if there is no such member, or if
/// \p Until is given and the descent does not pass that structure and offset.
bool descend(const MDNode *Struct, uint64_t Offset, const MDNode *Accessed, MemberPath &Out,
             std::pair<const MDNode *, uint64_t> Until = {}) {
  bool Passed = !Until.first;
  for (unsigned Depth = 0; Depth < MaxDepth; ++Depth) {
    Passed |= Struct == Until.first && Offset == Until.second;
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
      return false;
    // A scalar's type node has its parent where a structure has its first member, so the descent
    // ends at the accessed type.
    const bool Opaque = Member && typeName(Member) == "omnipotent char";
    const bool Last =
        !Member || Member == Accessed || Member->getNumOperands() < 3 || Opaque || Pointer;
    if (StringRef Name = typeName(Struct); !tellsNothing(Name))
      Out.push_back({Name, Struct, Offset, Last && !Opaque});
    if (Last)
      return Passed && (Accessed || Pointer || Opaque);
    Struct = Member;
    Offset -= Start;
  }
  return false;
}

} // namespace

MemberPaths::MemberPaths(const Module &M)
    : M(M), Layout(M.getDataLayout()), Classes(hasClasses(M)) {
  const NamedMDNode *Recorded = M.getNamedMetadata(PartsMetadata);
  for (const MDNode *N :
       Recorded ? Recorded->operands() : iterator_range<NamedMDNode::const_op_iterator>({}, {})) {
    auto *Offset = mdconst::dyn_extract_or_null<ConstantInt>(N->getOperand(1));
    auto *Part = dyn_cast_or_null<MDString>(N->getOperand(2).get());
    if (Offset && Part)
      Parts[typeName(N)].push_back({Offset->getZExtValue(), Part->getString()});
  }
}

/// Returns the known levels of the place \p Offset bytes into \p Class.
MemberPath MemberPaths::pathByName(StringRef Class, uint64_t Offset) {
  MemberPath Path;
  for (unsigned Depth = 0; Depth < MaxDepth; ++Depth) {
    Path.push_back({Class, nullptr, Offset, /*Direct=*/false});
    auto It = Parts.find(Class);
    const Part *Inside = nullptr;
    if (It != Parts.end())
      for (const Part &P : It->second)
        if (P.Offset <= Offset && (!Inside || P.Offset > Inside->Offset))
          Inside = &P;
    if (!Inside)
      break;
    const uint64_t Bytes = bytesOf(Inside->Class);
    if (Bytes && Offset - Inside->Offset + PointerBytes > Bytes)
      break;
    Class = Inside->Class;
    Offset -= Inside->Offset;
  }
  return Path;
}

/// Returns the declared class of the object that \p Base, an argument or a loaded pointer, points
/// to; empty if it is unknown.
static StringRef declaredClass(const Value *Base) {
  if (auto *A = dyn_cast<Argument>(Base))
    return A->getParent()
        ->getAttributes()
        .getParamAttr(A->getArgNo(), PointeeAttr)
        .getValueAsString();
  if (auto *Load = dyn_cast<LoadInst>(Base))
    if (StringRef Class = classPointedTo(Load->getMetadata(LLVMContext::MD_tbaa));
        isKnownElsewhere(Class))
      return Class;
  return StringRef();
}

/// Returns the pointer and the constant offset that \p Address is computed from. An array element
/// counts as the object itself if the pointer's known object has the element's size.
std::optional<MemberPaths::Place> MemberPaths::placeOf(const Value *Address) {
  APInt Offset(Layout.getIndexTypeSizeInBits(Address->getType()), 0);
  const Value *Base =
      Address->stripAndAccumulateConstantOffsets(Layout, Offset, /*AllowNonInbounds=*/true);
  if (Offset.isNegative() || !Base->getType()->isPointerTy())
    return std::nullopt;
  if (auto *G = dyn_cast<GEPOperator>(Base); G && G->getNumIndices() == 1) {
    const TypeSize Step = Layout.getTypeAllocSize(G->getSourceElementType());
    if (!Step.isScalable() && Offset.ult(Step.getFixedValue()) &&
        pointeeOf(G->getPointerOperand()).Bytes == Step.getFixedValue())
      Base = G->getPointerOperand();
  }
  return Place{Base, Offset.getZExtValue()};
}

/// Returns the name that type tags have for \p Type; empty if they have none.
StringRef MemberPaths::className(const Type *Type) {
  auto *T = dyn_cast<StructType>(Type);
  const std::string Name = T && Classes ? classNameOf(*T) : std::string();
  return Name.empty() ? StringRef() : Constructed.insert(Name).first->getKey();
}

/// Takes the class and size of \p P from calls that get \p Base as an argument.
void MemberPaths::askCalls(const Value *Base, Pointee &P) {
  unsigned Looked = 0;
  for (const Use &U : Base->uses()) {
    if (++Looked > MaxUses)
      return;
    auto *Call = dyn_cast<CallBase>(U.getUser());
    if (!Call || !Call->isArgOperand(&U) || isa<IntrinsicInst>(Call))
      continue;
    auto *Callee = dyn_cast<Function>(Call->getCalledOperand()->stripPointerCastsAndAliases());
    const unsigned K = Call->getArgOperandNo(&U);
    // The callee may take the object for one of its base classes. The argument's dereferenceable
    // bytes bound what the call says, so the largest one wins.
    const uint64_t Bytes = Call->getParamDereferenceableBytes(K);
    if (!Callee || Bytes <= P.Bytes)
      continue;
    StringRef Class;
    if (K < Callee->arg_size())
      Class = Callee->getAttributes().getParamAttr(K, PointeeAttr).getValueAsString();
    SmallString<64> Buffer;
    if (Class.empty() && K == 0)
      if (StringRef Name = constructedClass(Callee->getName(), Buffer); isKnownElsewhere(Name))
        Class = Constructed.insert(Name).first->getKey();
    if (Class.empty())
      continue;
    P.Class = Class;
    P.Bytes = Bytes;
  }
}

/// Takes the layout of \p P from the tags of accesses through \p Base: that of P.Class if known.
void MemberPaths::askAccesses(const Value *Base, Pointee &P) {
  unsigned Looked = 0;
  auto Told = [&](const User *U, uint64_t Offset) {
    const MDNode *Tag = getLoadStorePointerOperand(U) ? memberTag(*cast<Instruction>(U)) : nullptr;
    const MDNode *Struct = Tag && offsetOf(Tag) == Offset ? nodeOperand(Tag, 0) : nullptr;
    if (!Struct || tellsNothing(typeName(Struct)) ||
        (!P.Class.empty() && typeName(Struct) != P.Class))
      return false;
    P.Struct = Struct;
    return true;
  };
  for (const User *U : Base->users()) {
    if (++Looked > MaxUses || Told(U, 0))
      return;
    auto *G = dyn_cast<GEPOperator>(U);
    if (G && P.Class.empty() && G->getNumIndices() == 1) // element of an array of objects
      P.Class = className(G->getSourceElementType());
    APInt Offset(Layout.getIndexTypeSizeInBits(Base->getType()), 0);
    if (!G || !G->accumulateConstantOffset(Layout, Offset) || Offset.isNegative())
      continue;
    for (const User *Through : G->users())
      if (++Looked > MaxUses || Told(Through, Offset.getZExtValue()))
        return;
  }
}

/// Returns the object that all values merged by \p Phi point to, without a class if they differ.
/// \p Phi may walk over an array of objects, or keep a pointer that the loop loads again.
MemberPaths::Pointee MemberPaths::mergedPointee(const PHINode &Phi) {
  constexpr unsigned MaxPhis = 8;
  SmallPtrSet<const Value *, MaxPhis> Phis{&Phi};
  SmallVector<const Value *, 8> Stack(Phi.incoming_values());
  Pointee First;
  while (!Stack.empty()) {
    const Value *From = Stack.pop_back_val();
    auto *Step = dyn_cast<GEPOperator>(From);
    if (Step && Phis.contains(Step->getPointerOperand()))
      continue;
    if (auto *Inner = dyn_cast<PHINode>(From)) {
      if (!Phis.insert(Inner).second)
        continue;
      if (Phis.size() > MaxPhis)
        return Pointee();
      append_range(Stack, Inner->incoming_values());
      continue;
    }
    const Pointee Of = pointeeOf(From);
    if (Of.Class.empty() || (!First.Class.empty() && First.Class != Of.Class))
      return Pointee();
    First = Of;
  }
  return First;
}

MemberPaths::Pointee MemberPaths::findPointee(const Value *Base) {
  Pointee P;
  if (isa<Constant>(Base) && !isa<GlobalVariable>(Base))
    return P;
  P.Class = declaredClass(Base);
  if (auto *Phi = dyn_cast<PHINode>(Base))
    if (const Pointee Merged = mergedPointee(*Phi); !Merged.Class.empty())
      return Merged;
  if (P.Class.empty())
    askCalls(Base, P);
  if (auto *G = dyn_cast<GlobalVariable>(Base); G && P.Class.empty())
    P.Class = className(G->getValueType());
  else if (auto *A = dyn_cast<AllocaInst>(Base); A && P.Class.empty())
    P.Class = className(A->getAllocatedType());
  if (auto *A = dyn_cast<Argument>(Base))
    P.Bytes = A->getDereferenceableBytes();
  askAccesses(Base, P);
  if (P.Class.empty() && P.Struct)
    P.Class = typeName(P.Struct);
  if (!P.Bytes && isClassName(P.Class))
    P.Bytes = bytesOf(P.Class);
  return P;
}

MemberPaths::Pointee MemberPaths::pointeeOf(const Value *Base) {
  if (auto It = Pointees.find(Base); It != Pointees.end())
    return It->second;
  Pointee Found = findPointee(Base);
  return Pointees[Base] = Found;
}

/// True for a C structure without a name (typedef struct {...} matrix) of at least two members.
/// Headers of two programs are unlikely to have the same layout.
static bool isKnownByLayout(const MDNode *Struct) {
  constexpr unsigned LeastOperands = 5; // name; type and offset of two members
  return typeName(Struct).empty() && Struct->getNumOperands() >= LeastOperands;
}

MemberPath MemberPaths::of(const Instruction &Access, unsigned Lane) {
  // An access may have no member's tag: it was moved out of a loop, goes through a reference to the
  // pointer, or the member's class has no layout in the tags.
  const MDNode *Tag = memberTag(Access);
  if (Tag && Lane)
    return {}; // the tag names the first element's member, and the next may be in another object
  const uint64_t Beyond = PointerBytes * Lane;
  const MDNode *Struct = Tag ? nodeOperand(Tag, 0) : nullptr;
  const MDNode *Accessed = Tag ? nodeOperand(Tag, 1) : nullptr;
  const uint64_t At = Tag ? offsetOf(Tag) : 0;
  MemberPath Own;
  if (Struct && Accessed)
    descend(Struct, At, Accessed, Own);
  if (Struct && Accessed && Own.empty() && !Classes && isKnownByLayout(Struct))
    Own.push_back({typeName(Struct), Struct, At, /*Direct=*/true});
  const Value *Address = getLoadStorePointerOperand(&Access);
  if (Own.empty() && Address && Classes)
    if (MemberPath Element = elementPath(Address, PointerBytes, Beyond); !Element.empty())
      return Element;
  std::optional<Place> P = Address ? placeOf(Address) : std::nullopt;
  if (!P || P->Offset < At)
    return Own;
  P->Offset += Beyond;
  const bool Plain = Struct && !tellsNothing(typeName(Struct));
  if (Plain && P->Offset == At) // the usual case: the structure of the pointer's declared type
    if (StringRef Class = declaredClass(P->Base); Class.empty() || Class == typeName(Struct))
      return Own;
  const Pointee Of = pointeeOf(P->Base);
  if (Of.Class.empty() || (Struct && Of.Class == typeName(Struct)))
    return Own;
  if (Of.Struct) {
    MemberPath Whole;
    if (descend(Of.Struct, P->Offset, Accessed, Whole, {Struct, At}))
      return Whole;
    return Own;
  }
  // Only the class' name is known. An access beyond its end is to a class that begins with it.
  if (!isClassName(Of.Class) || P->Offset + PointerBytes > Of.Bytes)
    return Own;
  if (Plain && P->Offset == At &&
      any_of(Own, [&](const MemberLevel &L) { return L.Class == Of.Class; }))
    return Own;
  MemberPath Whole = pathByName(Of.Class, P->Offset);
  for (const MemberLevel &L : Own)
    if (none_of(Whole, [&](const MemberLevel &Known) { return Known.Class == L.Class; }))
      Whole.push_back(L);
  return Whole;
}

MemberPath MemberPaths::handedOn(const Value *Address, const CallBase &Call, unsigned K,
                                 uint64_t &Bytes) {
  Bytes = Call.getParamDereferenceableBytes(K);
  if (Bytes && Classes)
    if (MemberPath Element = elementPath(Address, Bytes); !Element.empty()) {
      Element.front().Offset = *Element.front().InFirst; // all elements share the first one's path
      Element.front().Variable = true;
      return Element;
    }
  std::optional<Place> At = placeOf(Address);
  if (!At)
    return {};
  const Pointee Of = pointeeOf(At->Base);
  if (Of.Class.empty())
    return {};
  auto *Callee = dyn_cast<Function>(Call.getCalledOperand()->stripPointerCastsAndAliases());
  if (Callee && isDestructor(Callee->getName()))
    return {};           // a destructor stores no pointer there, and its reads are rarely repeated
  if (At->Offset == 0) { // either the whole object or its first member
    const bool Library =
        Callee && K == 0 &&
        (Callee->getName().starts_with("_ZNSt") || Callee->getName().starts_with("_ZNKSt"));
    if (At->Base == Address && !Library && !(Bytes && Bytes < Of.Bytes))
      return {};
  }
  MemberPath Path;
  if (Bytes <= PointerBytes) {
    if (Of.Struct && descend(Of.Struct, At->Offset, nullptr, Path))
      Bytes = PointerBytes;
    else
      Path.clear();
  }
  if (Path.empty() && Bytes && isClassName(Of.Class) && At->Offset + Bytes <= Of.Bytes)
    Path = pathByName(Of.Class, At->Offset);
  return Path;
}

} // namespace smalloc
