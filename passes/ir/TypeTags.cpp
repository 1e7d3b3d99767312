//===- TypeTags.cpp - the names in type tags --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/ir/TypeTags.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace smalloc {

/// Most structures nested in each other.
static constexpr unsigned MaxAccessDepth = 12;

bool isLibraryClass(StringRef TypeName) {
  return TypeName.starts_with("_ZTSSt") || TypeName.starts_with("_ZTSNSt") ||
         TypeName.starts_with("_ZTSNKSt") || TypeName.starts_with("_ZTSSa") ||
         TypeName.starts_with("_ZTSSs") || TypeName.starts_with("_ZTSN9__gnu_cxx");
}

bool tellsNothing(StringRef TypeName) {
  return TypeName.empty() || isLibraryClass(TypeName) || TypeName.contains("_GLOBAL__N_");
}

bool isKnownElsewhere(StringRef Class) {
  return !Class.empty() && !tellsNothing(Class) && !Class.starts_with("_ZTSZ") &&
         !Class.contains("$_") && !Class.contains("UlvE");
}

bool hasClasses(const Module &M) {
  auto isOfClasses = [](const MDNode *Tag) {
    const MDNode *Type = nodeOperand(Tag, 1);
    while (Type && Type->getNumOperands() >= 2)
      Type = nodeOperand(Type, 1);
    return Type && typeName(Type) == "Simple C++ TBAA";
  };
  if (const NamedMDNode *Tags = M.getNamedMetadata("llvm.errno.tbaa"))
    return any_of(Tags->operands(), isOfClasses);
  // Before LLVM 22 the module has no such list; the first access with a tag decides.
  for (const Function &F : M)
    for (const Instruction &I : instructions(F))
      if (const MDNode *Tag = I.getMetadata(LLVMContext::MD_tbaa))
        return isOfClasses(Tag);
  return false;
}

StringRef classPointedTo(const MDNode *Tag) {
  const MDNode *Type = Tag && Tag->getNumOperands() >= 3 ? nodeOperand(Tag, 1) : nullptr;
  StringRef Name = Type ? typeName(Type) : StringRef();
  if (!Name.consume_front("p1 ") || !isClassName(Name))
    return StringRef();
  // C's tags name a pointer's structure in the same way, but name the structure itself differently.
  for (unsigned Depth = 0; Type && Depth < MaxAccessDepth; ++Depth) {
    if (Type->getNumOperands() < 2)
      return typeName(Type) == "Simple C++ TBAA" ? Name : StringRef();
    Type = nodeOperand(Type, 1);
  }
  return StringRef();
}

StringRef constructedClass(StringRef Name, SmallVectorImpl<char> &Buffer) {
  if (!Name.consume_front("_ZN"))
    return StringRef();
  const StringRef Start = Name;
  unsigned Parts = 0;
  while (!Name.empty() && isDigit(Name[0])) {
    size_t Length;
    if (Name.consumeInteger(10, Length) || Length >= Name.size())
      return StringRef();
    Name = Name.drop_front(Length);
    ++Parts;
  }
  if (!Parts || Name.size() < 3 || !(Name[0] == 'C' || Name[0] == 'D') || !isDigit(Name[1]) ||
      Name[2] != 'E')
    return StringRef();
  StringRef Class = Start.take_front(Start.size() - Name.size());
  return Parts == 1 ? ("_ZTS" + Class).toStringRef(Buffer)
                    : ("_ZTSN" + Class + "E").toStringRef(Buffer);
}

std::string classNameOf(const StructType &T) {
  StringRef Name = T.hasName() ? T.getName() : StringRef();
  if ((!Name.consume_front("class.") && !Name.consume_front("struct.")) ||
      Name.starts_with("std::"))
    return std::string();
  std::string Mangled;
  unsigned Parts = 0;
  while (!Name.empty()) {
    auto [Part, Rest] = Name.split("::");
    if (!all_of(Part, [](char C) { return isAlnum(C) || C == '_'; })) // "struct.Rows.3"
      return std::string();
    Mangled += utostr(Part.size()) + Part.str();
    Name = Rest;
    ++Parts;
  }
  return Parts == 0 ? std::string() : Parts == 1 ? "_ZTS" + Mangled : "_ZTSN" + Mangled + "E";
}

} // namespace smalloc
