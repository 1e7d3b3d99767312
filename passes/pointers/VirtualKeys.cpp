//===- VirtualKeys.cpp - arguments and results of virtual functions ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes the keys of virtual functions: a class and a slot of its table. A caller knows the
// declared class of its pointer. The unit that has a class' table knows the function in each slot,
// and the base classes from the type information. So a class' float *data() in one unit matches a
// loop of another unit that calls it through a base. Bases other than the first have no keys.
//
// The object itself comes from where its table was set: a constructor knows the object's class, a
// caller only a base.
//===----------------------------------------------------------------------===//
#include "passes/ir/TypeTags.h"
#include "passes/pointers/KeyedSummary.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace smalloc {
namespace {

/// Most base classes that are followed.
constexpr unsigned MaxBases = 8;
/// Slots before a table's functions: the object's offset and its type information.
constexpr unsigned FirstFunction = 2;

/// True if other units may know the virtual functions of \p Class. Programs override those of the
/// C++ library's memory resources.
bool isInterface(StringRef Class) {
  return !tellsNothing(Class) || Class == "_ZTSNSt3pmr15memory_resourceE" ||
         Class == "_ZTSNSt3__13pmr15memory_resourceE"; // libc++
}

const GlobalVariable *globalAt(const Constant *Init, unsigned I) {
  auto *Fields = dyn_cast_or_null<ConstantAggregate>(Init);
  return Fields && I < Fields->getNumOperands()
             ? dyn_cast<GlobalVariable>(Fields->getOperand(I)->stripPointerCasts())
             : nullptr;
}

/// Returns the type information of the base class at the start of an object of \p Type; null if
/// there is none or the unit does not have it.
const GlobalVariable *firstBase(const GlobalVariable &Type) {
  constexpr unsigned Single = 2, First = 4; // fields of __si_class_type_info, __vmi_class_type_info
  const Constant *Init = Type.hasInitializer() ? Type.getInitializer() : nullptr;
  auto *Fields = dyn_cast_or_null<ConstantAggregate>(Init);
  if (!Fields)
    return nullptr;
  if (const GlobalVariable *Base = globalAt(Init, Single))
    return Base;
  auto *Where = First + 1 < Fields->getNumOperands()
                    ? dyn_cast<ConstantInt>(Fields->getOperand(First + 1))
                    : nullptr;
  return Where && Where->getSExtValue() >> 8 == 0 && !(Where->getSExtValue() & 1)
             ? globalAt(Init, First)
             : nullptr;
}

} // namespace

/// Returns the key of an argument or the result of the virtual function in \p Slot of \p Class.
/// \p Argument: index from 0; -1: the result.
uint64_t KeyNames::virtualKey(StringRef Class, uint64_t Slot, int Argument) {
  const std::string What = Argument < 0 ? "result" : "argument " + utostr(unsigned(Argument) + 1);
  const std::string Of = What + " of virtual function " + utostr(Slot) + " of ";
  return key(Of + Class, [&] {
    StringRef Plain = Class;
    Plain.consume_front("_ZTS");
    return Of + "_Z" + Plain.str();
  });
}

/// Returns the key of objects whose table, or Fortran's description of their type, is \p Table.
uint64_t KeyNames::objectKey(const GlobalVariable &Table) {
  return key("object of " + Table.getName() + ownOf(Table),
             [&] { return "object of " + Table.getName().str(); });
}

/// Returns the key of the object whose table \p Store sets, as a constructor does, or whose
/// description it stores in a descriptor; 0 if it sets none.
uint64_t KeyNames::objectKeyOf(const StoreInst &Store) {
  const Value *Stored = Store.getValueOperand();
  if (isBoundType(Stored))
    return objectKey(*cast<GlobalVariable>(Stored));
  if (!isa<ConstantExpr>(Stored) || !Stored->getType()->isPointerTy())
    return 0;
  APInt Offset(Layout.getIndexTypeSizeInBits(Stored->getType()), 0);
  auto *Table = dyn_cast<GlobalVariable>(
      Stored->stripAndAccumulateConstantOffsets(Layout, Offset, /*AllowNonInbounds=*/true));
  StringRef Class = Table ? Table->getName() : StringRef();
  return Offset == uint64_t(FirstFunction) * Layout.getPointerSize() &&
                 Class.consume_front("_ZTV") && isInterface(("_ZTS" + Class).str())
             ? objectKey(*Table)
             : 0;
}

/// Returns the key of the argument or the result of \p Call; 0 if it is no virtual call.
uint64_t KeyNames::virtualKeyOf(const CallBase &Call, int Argument) {
  auto *Called = dyn_cast<LoadInst>(Call.getCalledOperand());
  if (!Called || Call.arg_empty() || Argument == 0) // the object has the key of its own table
    return 0;
  APInt Offset(Layout.getIndexTypeSizeInBits(Called->getPointerOperand()->getType()), 0);
  auto *Table = dyn_cast<LoadInst>(Called->getPointerOperand()->stripAndAccumulateConstantOffsets(
      Layout, Offset, /*AllowNonInbounds=*/true));
  const MDNode *Tag = Table ? Table->getMetadata(LLVMContext::MD_tbaa) : nullptr;
  const MDNode *Type = Tag ? nodeOperand(Tag, 1) : nullptr;
  if (!Type || typeName(Type) != "vtable pointer" || Offset.isNegative())
    return 0;
  StringRef Class = Paths.classOf(Table->getPointerOperand());
  if (auto *Object = dyn_cast<LoadInst>(Table->getPointerOperand()); Object && Class.empty())
    Class = classPointedTo(Object->getMetadata(LLVMContext::MD_tbaa));
  return isClassName(Class) && isInterface(Class)
             ? virtualKey(Class, Offset.getZExtValue() / Layout.getPointerSize(), Argument)
             : 0;
}

/// Calls \p Emit for each flow between the functions in the unit's tables and the keys of their
/// slots.
void KeyNames::relateTables(function_ref<void(uint64_t From, uint64_t To)> Emit) {
  for (const GlobalVariable &Table : M.globals()) {
    if (!Table.getName().starts_with("_ZTV") || !Table.hasInitializer())
      continue;
    auto *Parts = dyn_cast<ConstantAggregate>(Table.getInitializer());
    auto *Places = Parts && Parts->getNumOperands()
                       ? dyn_cast<ConstantAggregate>(Parts->getOperand(0))
                       : nullptr;
    const GlobalVariable *Class = Places ? globalAt(Places, FirstFunction - 1) : nullptr;
    for (unsigned Depth = 0; Class && Depth < MaxBases; ++Depth, Class = firstBase(*Class)) {
      StringRef Name = Class->getName();
      if (!Name.consume_front("_ZTI"))
        break;
      const std::string ClassName = ("_ZTS" + Name).str();
      if (!isInterface(ClassName))
        break;
      for (unsigned I = FirstFunction; I < Places->getNumOperands(); ++I) {
        auto *F = dyn_cast<Function>(Places->getOperand(I)->stripPointerCastsAndAliases());
        if (!F || !hasKeys(*F) || F->getName().starts_with("__cxa_"))
          continue;
        const unsigned Slot = I - FirstFunction;
        if (!Depth && !F->arg_empty())
          Emit(objectKey(Table), argumentKey(*F, 0));
        if (F->getReturnType()->isPointerTy())
          Emit(resultKey(*F), virtualKey(ClassName, Slot, -1));
        for (const Argument &A : F->args())
          if (A.getType()->isPointerTy() && A.getArgNo() > 0)
            Emit(virtualKey(ClassName, Slot, static_cast<int>(A.getArgNo())),
                 argumentKey(*F, A.getArgNo()));
      }
    }
  }
}

} // namespace smalloc
