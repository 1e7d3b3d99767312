//===- SiteVariable.cpp - the variable that an allocation is stored in ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/sites/SiteVariable.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace smalloc {
namespace {

/// Limits: steps from a result to where it is stored, or nested members; and uses searched.
constexpr unsigned MaxSteps = 16, MaxUses = 64;

/// Returns the address at which \p Pointer, or a descriptor made from it, is stored.
const Value *storedAt(const Value *Pointer) {
  for (unsigned Step = 0; Step < MaxSteps; ++Step) {
    const Value *Next = nullptr;
    unsigned Looked = 0;
    for (const User *U : Pointer->users()) {
      if (++Looked > MaxUses)
        break;
      if (auto *Store = dyn_cast<StoreInst>(U); Store && Store->getValueOperand() == Pointer)
        return Store->getPointerOperand();
      if (isa<InsertValueInst>(U))
        Next = U;
    }
    if (!Next)
      return nullptr;
    Pointer = Next;
  }
  return nullptr;
}

const DILocalVariable *declaredAt(const Value *Place) {
  for (const DbgVariableRecord *Record : findDVRDeclares(const_cast<Value *>(Place)))
    return Record->getVariable();
  if (auto *Local = dyn_cast<AllocaInst>(Place)) // clang's assignment tracking has other records
    for (const DbgVariableRecord *Record : at::getDVRAssignmentMarkers(Local))
      return Record->getVariable();
  return nullptr;
}

/// Returns the address that the unnamed descriptor at \p Local is copied to at once.
const Value *copiedTo(const AllocaInst &Local) {
  unsigned Looked = 0;
  for (const User *U : Local.users()) {
    if (++Looked > MaxUses)
      break;
    if (auto *Copy = dyn_cast<MemCpyInst>(U); Copy && Copy->getRawSource() == &Local)
      return Copy->getRawDest();
  }
  return nullptr;
}

const DIType *withoutNames(const DIType *Type) {
  for (unsigned Step = 0; Step < MaxSteps; ++Step) {
    auto *Derived = dyn_cast_or_null<DIDerivedType>(Type);
    if (!Derived || Derived->getTag() == dwarf::DW_TAG_pointer_type)
      break;
    Type = Derived->getBaseType();
  }
  return Type;
}

/// Appends to \p Name the names of the member \p Offset bytes into \p Type; false if there is none.
bool appendMember(const DIType *Type, uint64_t Offset, char Separator, std::string &Name) {
  bool Any = false;
  for (unsigned Depth = 0; Depth < MaxSteps; ++Depth) {
    auto *Whole = dyn_cast_or_null<DICompositeType>(withoutNames(Type));
    if (!Whole || Whole->getTag() == dwarf::DW_TAG_array_type)
      break;
    const DIDerivedType *Found = nullptr;
    for (const DINode *Element : Whole->getElements())
      if (auto *Member = dyn_cast_or_null<DIDerivedType>(Element);
          Member && Member->getTag() == dwarf::DW_TAG_member && !Member->isStaticMember() &&
          Member->getOffsetInBits() / 8 <= Offset &&
          (!Found || Member->getOffsetInBits() >= Found->getOffsetInBits()))
        Found = Member;
    if (!Found)
      break;
    if (!Found->getName().empty()) {
      if (!Name.empty())
        Name += Separator;
      Name += Found->getName();
      Any = true;
    }
    Offset -= Found->getOffsetInBits() / 8;
    Type = Found->getBaseType();
  }
  return Any;
}

/// Returns the variable's name: "a" for flang's _QMmodFprocEa, and the demangled name for clang's.
std::string globalName(StringRef Name) {
  if (!Name.starts_with("_Q"))
    return demangle(Name);
  const size_t Entity = Name.rfind('E');
  return Entity == StringRef::npos ? std::string() : Name.drop_front(Entity + 1).str();
}

} // namespace

std::string variableOf(const CallBase &Call, const Value *Place) {
  if (!Place)
    Place = storedAt(&Call);
  const DataLayout &Layout = Call.getModule()->getDataLayout();
  for (unsigned Step = 0; Place && Step < 2; ++Step) {
    APInt Constant(Layout.getIndexTypeSizeInBits(Place->getType()), 0);
    const Value *Base =
        Place->stripAndAccumulateConstantOffsets(Layout, Constant, /*AllowNonInbounds=*/true);
    const uint64_t Offset = Constant.isNegative() ? 0 : Constant.getZExtValue();
    std::string Name;
    const DIType *Type = nullptr;
    bool Fortran = false;
    if (auto *Global = dyn_cast<GlobalVariable>(Base)) {
      Name = globalName(Global->getName());
      Fortran = Global->getName().starts_with("_Q");
      SmallVector<DIGlobalVariableExpression *, 1> Known;
      Global->getDebugInfo(Known);
      if (!Known.empty())
        Type = Known.front()->getVariable()->getType();
    } else if (const DILocalVariable *Local = declaredAt(Base)) {
      Name = Local->getName();
      Type = Local->getType();
      const DISubprogram *In = Call.getFunction()->getSubprogram();
      Fortran = In && In->getUnit() && In->getUnit()->getProducer().contains("flang");
    } else if (auto *Load = dyn_cast<LoadInst>(Base)) { // member of the object a variable points to
      const DILocalVariable *Of = declaredAt(Load->getPointerOperand());
      auto *Pointer = Of ? dyn_cast_or_null<DIDerivedType>(withoutNames(Of->getType())) : nullptr;
      if (Pointer && appendMember(Pointer->getBaseType(), Offset, '.', Name))
        return Of->isArtificial() ? Name : Of->getName().str() + "->" + Name;
      return {};
    } else if (auto *Unnamed = dyn_cast<AllocaInst>(Base); Unnamed && Offset == 0) {
      Place = copiedTo(*Unnamed);
      continue;
    }
    // A descriptor stands for the array; its own members are not the program's.
    if (Type && !isa_and_nonnull<DICompositeType>(withoutNames(Type)))
      return Offset == 0 ? Name : std::string();
    if (!appendMember(Type, Offset, Fortran ? '%' : '.', Name) && Offset != 0 && !Name.empty())
      Name += " + " + utostr(Offset);
    return Name;
  }
  return {};
}

} // namespace smalloc
