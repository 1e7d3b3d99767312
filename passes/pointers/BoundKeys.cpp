//===- BoundKeys.cpp - arguments of Fortran's type-bound procedures ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes the keys of Fortran's type-bound procedures. A polymorphic object, class(t), has a
// descriptor with the address of its type's description. The description begins with the address of
// the type's table of bindings, and a call loads the procedure from a slot of it. An extended type
// keeps the slots of its parent.
//
// flang's call names no type, so a key is a slot and the type of the procedure. The unit that has a
// table knows the procedure in each slot. Types without a common ancestor may share a key; the
// number of arguments keeps most of them apart.
//
// The object itself comes from where a descriptor gets the address of the description, by a store
// or as its initial value: that unit knows the object's own type.
//===----------------------------------------------------------------------===//
#include "passes/ir/TypeTags.h"
#include "passes/pointers/KeyedSummary.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace smalloc {
namespace {

/// Bytes of a binding: the address of the procedure, and a descriptor of its name.
constexpr uint64_t BindingBytes = 32;
/// Most type nodes above that of an access.
constexpr unsigned MaxTypeDepth = 12;

/// True if \p Access has a type tag of flang. Each function of Fortran has a root of its own.
bool isFortran(const Instruction &Access) {
  const MDNode *Tag = Access.getMetadata(LLVMContext::MD_tbaa);
  const MDNode *Type = Tag ? nodeOperand(Tag, 1) : nullptr;
  for (unsigned Depth = 0; Type && Type->getNumOperands() >= 2 && Depth < MaxTypeDepth; ++Depth)
    Type = nodeOperand(Type, 1);
  return Type && typeName(Type).starts_with("Flang function root");
}

bool isNamed(const Type *T, StringRef Start) {
  auto *Struct = dyn_cast<StructType>(T);
  return Struct && Struct->hasName() && Struct->getName().starts_with(Start);
}

bool isDescription(const GlobalVariable &G) {
  return isNamed(G.getValueType(), "_QM__fortran_type_infoTderivedtype");
}

/// Returns the first value in \p C and in the structures that it begins with.
const Constant *firstIn(const Constant *C) {
  while (isa<ConstantStruct>(C) && C->getNumOperands())
    C = cast<Constant>(C->getOperand(0));
  return C;
}

/// Returns the bindings of the type that \p Description describes; null if it has none or if the
/// unit does not know them.
const ConstantArray *bindingsOf(const GlobalVariable &Description) {
  if (!isDescription(Description) || !Description.hasInitializer())
    return nullptr;
  auto *Table = dyn_cast<GlobalVariable>(firstIn(Description.getInitializer()));
  auto *Bindings = Table && Table->hasInitializer() // an abstract type has none
                       ? dyn_cast<ConstantArray>(Table->getInitializer())
                       : nullptr;
  return Bindings &&
                 isNamed(Bindings->getType()->getElementType(), "_QM__fortran_type_infoTbinding")
             ? Bindings
             : nullptr;
}

/// Returns the procedure of \p Binding; null if it is deferred.
const Function *procedureOf(const Constant *Binding) {
  auto *Address = dyn_cast<ConstantExpr>(firstIn(Binding));
  return Address && Address->getOpcode() == Instruction::PtrToInt
             ? dyn_cast<Function>(Address->getOperand(0)->stripPointerCastsAndAliases())
             : nullptr;
}

/// True if \p Passed is the descriptor that has the address \p Description: the one that it was
/// loaded from, or a copy in local memory.
bool isObject(const Value *Passed, const LoadInst *Description) {
  const Value *Object = getUnderlyingObject(Passed);
  if (getUnderlyingObject(Description->getPointerOperand()) == Object)
    return true;
  return isa<AllocaInst>(Object) && any_of(Description->users(), [&](const User *U) {
           auto *Store = dyn_cast<StoreInst>(U);
           return Store && Store->getValueOperand() == Description &&
                  getUnderlyingObject(Store->getPointerOperand()) == Object;
         });
}

std::string textOf(const FunctionType &Type) {
  std::string Text;
  raw_string_ostream(Text) << Type;
  return Text;
}

/// Returns the variables that have the address of \p Description as an initial value.
SmallVector<const GlobalVariable *, 4> variablesWith(const GlobalVariable &Description) {
  SmallVector<const GlobalVariable *, 4> Result;
  SmallVector<const Constant *, 8> Stack{&Description};
  while (!Stack.empty())
    for (const User *U : Stack.pop_back_val()->users())
      if (auto *G = dyn_cast<GlobalVariable>(U); G && !is_contained(Result, G))
        Result.push_back(G);
      else if (isa<ConstantAggregate>(U))
        Stack.push_back(cast<Constant>(U));
  return Result;
}

} // namespace

/// Returns the key of an argument of the type-bound procedures of type \p Type, a text, in \p Slot.
/// \p Argument: index from 0, of \p Arguments.
uint64_t KeyNames::boundKey(StringRef Type, uint64_t Slot, unsigned Argument, unsigned Arguments) {
  return key("argument " + Twine(Argument) + " bound at " + Twine(Slot) + " " + Type, [&] {
    return "argument " + utostr(Argument + 1) + " of " + utostr(Arguments) +
           " of type-bound procedure " + utostr(Slot);
  });
}

/// Returns the key of argument \p Argument of \p Call, an index from 0; 0 if \p Call calls no
/// type-bound procedure.
uint64_t KeyNames::boundKeyOf(const CallBase &Call, unsigned Argument) {
  auto *Called = dyn_cast<IntToPtrInst>(Call.getCalledOperand());
  auto *Address = Called ? dyn_cast<LoadInst>(Called->getOperand(0)) : nullptr;
  if (!Address)
    return 0;
  APInt Offset(Layout.getIndexTypeSizeInBits(Address->getPointerOperandType()), 0);
  auto *Table = dyn_cast<LoadInst>(Address->getPointerOperand()->stripAndAccumulateConstantOffsets(
      Layout, Offset, /*AllowNonInbounds=*/true));
  if (!Table || Offset.isNegative() || Offset.urem(BindingBytes) || !isFortran(*Address))
    return 0;
  auto *Description = dyn_cast<LoadInst>(Table->getPointerOperand());
  if (Argument == 0 && Description && isObject(Call.getArgOperand(0), Description))
    return 0; // the object has the key of its own type
  return boundKey(textOf(*Call.getFunctionType()), Offset.getZExtValue() / BindingBytes, Argument,
                  Call.arg_size());
}

/// True if \p Stored is the address of the description of a type with bindings.
bool KeyNames::isBoundType(const Value *Stored) {
  auto *Description = dyn_cast<GlobalVariable>(Stored);
  return Description && bindingsOf(*Description);
}

/// Calls \p Emit for each flow from the keys of slots and objects to the procedures in the unit's
/// tables of bindings.
void KeyNames::relateBindings(function_ref<void(uint64_t From, uint64_t To)> Emit) {
  DenseSet<std::pair<const Function *, unsigned>> Seen; // extended types share procedures
  for (const GlobalVariable &Description : M.globals()) {
    const ConstantArray *Bindings = bindingsOf(Description);
    if (!Bindings)
      continue;
    const uint64_t Own = objectKey(Description);
    for (const GlobalVariable *Object : variablesWith(Description))
      Emit(blockKey(*Object), Own); // 0 for the constants that describe types
    for (unsigned Slot = 0; Slot < Bindings->getNumOperands(); ++Slot) {
      const Function *F = procedureOf(Bindings->getOperand(Slot));
      if (!F || !hasKeys(*F))
        continue;
      if (!F->arg_empty() && F->getArg(0)->getType()->isPointerTy())
        Emit(Own, argumentKey(*F, 0));
      if (!Seen.insert({F, Slot}).second)
        continue;
      const std::string Type = textOf(*F->getFunctionType());
      for (const Argument &A : F->args())
        if (A.getType()->isPointerTy())
          Emit(boundKey(Type, Slot, A.getArgNo(), F->arg_size()), argumentKey(*F, A.getArgNo()));
    }
  }
}

} // namespace smalloc
