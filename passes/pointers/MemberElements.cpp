//===- MemberElements.cpp - arrays that are members of classes --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the member path of an element of an array inside a C++ class (double *columns[6],
// std::array<std::vector<int>, 4>). Type tags leave this class out, and the index may be known
// only at run time. So the class follows from the pointer, as in MemberPaths.cpp, and the array
// from the class' LLVM type, which the context keeps. All elements with an unknown index share one
// path.
//===----------------------------------------------------------------------===//
#include "passes/ir/MemberPaths.h"
#include "passes/ir/TypeTags.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Operator.h"

using namespace llvm;

namespace smalloc {

/// Returns the LLVM type of \p Class, a class without template arguments; null if the unit does not
/// show it.
const StructType *MemberPaths::typeOf(StringRef Class) {
  auto [It, New] = Types.try_emplace(Class, nullptr);
  if (!New)
    return It->second;
  StringRef Name = Class;
  Name.consume_front("_ZTS");
  const bool Nested = Name.consume_front("N");
  SmallString<64> Plain;
  while (!Name.empty() && isDigit(Name[0])) {
    size_t Length;
    if (Name.consumeInteger(10, Length) || Length > Name.size())
      return nullptr;
    Plain += Plain.empty() ? "" : "::";
    Plain += Name.take_front(Length);
    Name = Name.drop_front(Length);
  }
  if (Name != (Nested ? "E" : ""))
    return nullptr;
  for (StringRef Kind : {"class.", "struct."})
    if (auto *T = StructType::getTypeByName(M.getContext(), (Kind + Plain).str());
        T && T->isSized())
      It->second = T;
  return It->second;
}

/// Returns the bytes of an object of \p Class; 0 if the unit does not show it.
uint64_t MemberPaths::bytesOf(StringRef Class) {
  const StructType *T = typeOf(Class);
  return T ? Layout.getTypeAllocSize(const_cast<StructType *>(T)).getFixedValue() : 0;
}

/// Returns the start of the outermost array in \p T that contains \p Offset, and the size of its
/// innermost elements. Only arrays of pointers or structures count: an array of bytes may be
/// storage for something else.
static std::optional<std::pair<uint64_t, uint64_t>> arrayAt(const DataLayout &Layout, Type *T,
                                                            uint64_t Offset) {
  uint64_t Start = 0;
  constexpr unsigned MaxDepth = 12; // structures nested in each other
  for (unsigned Depth = 0; Depth < MaxDepth; ++Depth) {
    if (auto *A = dyn_cast<ArrayType>(T); A && A->getNumElements() > 1) {
      Type *Element = A->getElementType();
      while (isa<ArrayType>(Element))
        Element = Element->getArrayElementType();
      const uint64_t Bytes = Layout.getTypeAllocSize(Element).getFixedValue();
      if (!Bytes || (!Element->isPointerTy() && !Element->isStructTy()))
        return std::nullopt;
      return std::pair(Start, Bytes);
    }
    auto *S = dyn_cast<StructType>(T);
    if (!S || Offset - Start >= Layout.getTypeAllocSize(S).getFixedValue())
      return std::nullopt;
    const StructLayout *Members = Layout.getStructLayout(S);
    const unsigned Inside = Members->getElementContainingOffset(Offset - Start);
    Start += Members->getElementOffset(Inside).getFixedValue();
    T = S->getElementType(Inside);
    if (Offset - Start >= Layout.getTypeAllocSize(T).getFixedValue())
      return std::nullopt;
  }
  return std::nullopt;
}

/// Returns the path of the \p Bytes bytes that are \p Offset behind \p Address, in an array inside
/// a class: in a known element, or in one of unknown index. Empty if there is no such array, or if
/// its elements are smaller.
MemberPath MemberPaths::elementPath(const Value *Address, uint64_t Bytes, uint64_t Offset) {
  constexpr unsigned MostSubscripts = 3;
  bool Variable = false;
  for (unsigned Subscripts = 0; Subscripts <= MostSubscripts; ++Subscripts) {
    APInt Constant(Layout.getIndexTypeSizeInBits(Address->getType()), 0);
    Address =
        Address->stripAndAccumulateConstantOffsets(Layout, Constant, /*AllowNonInbounds=*/true);
    if (Constant.isNegative() || !Address->getType()->isPointerTy())
      return {};
    Offset += Constant.getZExtValue();
    auto *G = dyn_cast<GEPOperator>(Address);
    if (!G || G->getNumIndices() != 1)
      break;
    Address = G->getPointerOperand();
    const TypeSize Step = Layout.getTypeAllocSize(G->getSourceElementType());
    if (!Step.isScalable() && pointeeOf(Address).Bytes == Step.getFixedValue())
      break; // element of an array of objects
    Variable = true;
  }
  const StringRef Class = pointeeOf(Address).Class;
  const StructType *T = isClassName(Class) ? typeOf(Class) : nullptr;
  const auto Array = T ? arrayAt(Layout, const_cast<StructType *>(T), Offset) : std::nullopt;
  if (!Array || Bytes > Array->second)
    return {};
  const uint64_t InFirst = Array->first + (Offset - Array->first) % Array->second;
  MemberPath Path = pathByName(Class, Variable ? InFirst : Offset);
  Path.front().InFirst = InFirst;
  Path.front().Variable = Variable;
  return Path;
}

} // namespace smalloc
