//===- ModuleRecord.cpp - the record of a linked image --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/rewrite/ModuleRecord.h"
#include "passes/rewrite/Assembly.h"
#include "passes/rewrite/ThunkParts.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace llvm;

namespace smalloc {
namespace {

/// The symbols whose addresses the constructor stores in the record.
struct Symbols {
  GlobalValue *Start, *Stop, *KeysStart, *KeysStop; ///< bounds of the sections
  Function *Free, *Realloc, *Delete;
};

GlobalVariable *recordVariable(Module &M, smalloc_heap_strategy Heap) {
  LLVMContext &C = M.getContext();
  Type *I32 = Type::getInt32Ty(C);
  PointerType *Ptr = PointerType::getUnqual(C);
  StructType *RecordType = StructType::get(
      C, {I32, I32, Ptr, Ptr, Ptr, Ptr, Ptr, I32, I32, Ptr, Ptr, Ptr}); // smalloc_module
  Constant *Null = ConstantPointerNull::get(Ptr);
  auto *Record = new GlobalVariable(
      M, RecordType, /*isConstant=*/false, GlobalValue::LinkOnceODRLinkage,
      ConstantStruct::get(RecordType, {ConstantInt::get(I32, SMALLOC_ABI_VERSION),
                                       ConstantInt::get(I32, sizeof(smalloc_module)), Null, Null,
                                       Null, Null, Null, ConstantInt::get(I32, Heap),
                                       ConstantInt::get(I32, 0), Null, Null, Null}),
      "__smalloc_v1_module");
  makeHiddenComdat(M, Record);
  return Record;
}

/// Returns a bound of a section. GNU ld puts an undefined hidden symbol into a shared library's
/// dynamic table. It removes again only symbols that are called, as if a PLT entry were requested.
/// So the section bounds are functions, and a block that never runs calls them. A library then
/// exports the same symbols as without smalloc.
GlobalValue *boundary(Module &M, StringRef Name) {
  if (GlobalValue *Known = M.getNamedValue(Name))
    return Known;
  Function *F = Function::Create(FunctionType::get(Type::getVoidTy(M.getContext()), false),
                                 GlobalValue::ExternalLinkage, Name, M);
  F->setVisibility(GlobalValue::HiddenVisibility);
  F->setDSOLocal(true);
  F->setDoesNotThrow();
  return F;
}

/// Returns a function whose address comes from this image's GOT, never from a canonical PLT entry
/// of the executable.
Function *resolved(Module &M, StringRef Name, FunctionType *T, GlobalValue::LinkageTypes Linkage) {
  Function *F = M.getFunction(Name);
  if (!F)
    F = Function::Create(T, Linkage, Name, M);
  if (F->isDeclaration())
    F->setDSOLocal(false);
  return F;
}

Symbols symbolsOf(Module &M) {
  LLVMContext &C = M.getContext();
  PointerType *Ptr = PointerType::getUnqual(C);
  Symbols S;
  S.Start = boundary(M, "__start_smalloc_sites");
  S.Stop = boundary(M, "__stop_smalloc_sites");
  S.KeysStart = boundary(M, "__start_smalloc_keys");
  S.KeysStop = boundary(M, "__stop_smalloc_keys");
  FunctionType *Free = FunctionType::get(Type::getVoidTy(C), {Ptr}, false);
  FunctionType *Realloc = FunctionType::get(Ptr, {Ptr, Type::getInt64Ty(C)}, false);
  S.Free = resolved(M, "free", Free, GlobalValue::ExternalLinkage);
  S.Realloc = resolved(M, "realloc", Realloc, GlobalValue::ExternalLinkage);
  S.Delete = resolved(M, "_ZdlPv", Free, GlobalValue::ExternalWeakLinkage);
  return S;
}

/// Emits stores of \p S to \p Record. Also adds a block, in front of \p End, that never runs: it
/// calls the bounds and refers to \p Tables.
void fillRecord(IRBuilder<> &B, GlobalVariable *Record, const Symbols &S,
                ArrayRef<GlobalVariable *> Tables, BasicBlock *End) {
  Type *RecordType = Record->getValueType();
  const auto Field = [&](unsigned I) { return B.CreateStructGEP(RecordType, Record, I); };
  Constant *Values[] = {S.Start, S.Stop, S.Free, S.Realloc, S.Delete};
  for (unsigned I = 0; I < 5; ++I)
    B.CreateStore(Values[I], Field(2 + I));
  B.CreateStore(S.KeysStart, Field(10));
  B.CreateStore(S.KeysStop, Field(11));
  BasicBlock *Never = BasicBlock::Create(B.getContext(), "never", End->getParent(), End),
             *Tell = BasicBlock::Create(B.getContext(), "tell", End->getParent(), End);
  Value *Version = B.CreateLoad(B.getInt32Ty(), Field(0));
  B.CreateCondBr(B.CreateICmpEQ(Version, B.getInt32(0)), Never, Tell);
  B.SetInsertPoint(Never);
  for (GlobalValue *Bound : {S.Start, S.Stop, S.KeysStart, S.KeysStop})
    B.CreateCall(FunctionType::get(B.getVoidTy(), false), Bound);
  for (GlobalVariable *Table : Tables)
    B.CreateStore(Table, Field(9), /*isVolatile=*/true);
  B.CreateUnreachable();
  B.SetInsertPoint(Tell);
}

} // namespace

void emitModuleRecord(Module &M, smalloc_heap_strategy Heap, ArrayRef<GlobalVariable *> Tables) {
  if (M.getNamedGlobal("__smalloc_v1_module"))
    return;
  GlobalVariable *Record = recordVariable(M, Heap);
  const Symbols S = symbolsOf(M);
  Function *Register =
      announcer(Record, "__smalloc_v1_register", "__smalloc_v1_register_module",
                [&](IRBuilder<> &B, BasicBlock *End) { fillRecord(B, Record, S, Tables, End); });
  Function *Unregister =
      announcer(Record, "__smalloc_v1_unregister", "__smalloc_v1_unregister_module");
  appendToGlobalCtors(M, Register, /*Priority=*/1, Register);
  appendToGlobalDtors(M, Unregister, /*Priority=*/1, Unregister);
}

/// A field of the module record, and the symbol whose address it holds.
using SymbolField = std::pair<StringRef, size_t>;

/// Emits the code that stores the section bounds and the program's functions in the record at %rdi.
static void addressesText(Assembly &A) {
  static constexpr SymbolField Bounds[] = {
      {"__start_smalloc_sites", offsetof(smalloc_module, sites_start)},
      {"__stop_smalloc_sites", offsetof(smalloc_module, sites_stop)},
      {"__start_smalloc_keys", offsetof(smalloc_module, keys_start)},
      {"__stop_smalloc_keys", offsetof(smalloc_module, keys_stop)}};
  // Takes the addresses from this image's GOT, never from a canonical PLT entry of the executable.
  static constexpr SymbolField Resolved[] = {
      {"free", offsetof(smalloc_module, free_function)},
      {"realloc", offsetof(smalloc_module, realloc_function)},
      {"_ZdlPv", offsetof(smalloc_module, delete_function)}};
  for (const auto &[Symbol, At] : Bounds) {
    A.hidden(Symbol);
    // The linker makes no PLT entry for it, but GNU ld keeps the symbol out of the dynamic table
    // (boundary()).
    A.line("leaq " + Symbol + "@PLT(%rip),%rax");
    A.line("movq %rax," + Twine(At) + "(%rdi)");
  }
  for (const auto &[Symbol, At] : Resolved) {
    A.line("movq " + Symbol + "@GOTPCREL(%rip),%rax");
    A.line("movq %rax," + Twine(At) + "(%rdi)");
  }
}

void moduleRecordText(Module &M, smalloc_heap_strategy Heap, ArrayRef<GlobalVariable *> Tables) {
  const StringRef Record = "__smalloc_v1_module";
  Assembly A(M);
  A.open(".data.", "awG", Record, "object");
  static_assert(offsetof(smalloc_module, sites_start) == 8 && sizeof(smalloc_module) == 80);
  A.line(".long " + Twine(SMALLOC_ABI_VERSION) + "," + Twine(sizeof(smalloc_module)));
  A.line(".zero " + Twine(offsetof(smalloc_module, heap) - offsetof(smalloc_module, sites_start)));
  A.line(".long " + Twine(unsigned(Heap)));
  A.line(".zero " + Twine(sizeof(smalloc_module) - offsetof(smalloc_module, heap) - 4));
  A.close(Record);
  if (Function *Delete = M.getFunction("_ZdlPv"); !Delete || Delete->hasExternalWeakLinkage())
    A.weak("_ZdlPv");
  for (bool First : {true, false}) {
    const StringRef Name = First ? "__smalloc_v1_register" : "__smalloc_v1_unregister",
                    Entry =
                        First ? "__smalloc_v1_register_module" : "__smalloc_v1_unregister_module",
                    Array = First ? "init_array" : "fini_array";
    A.weak(Entry);
    A.openFunction(Name);
    if (First)
      for (const GlobalVariable *Table : Tables) // references without code (emitModuleRecord)
        A.line(".reloc .,R_X86_64_NONE," + Table->getName());
    A.landing();
    A.line("movq " + Entry + "@GOTPCREL(%rip),%r11");
    A.line("testq %r11,%r11");
    A.line("je 1f");
    A.line("leaq " + Record + "(%rip),%rdi");
    if (First)
      addressesText(A);
    A.line("jmp *%r11");
    A.line("1: ret");
    A.closeFunction(Name);
    A.line(".pushsection ." + Array + ".1,\"awG\",@" + Array + "," + Name + ",comdat");
    A.line(".p2align 3");
    A.line(".quad " + Name);
    A.line(".popsection");
  }
}

} // namespace smalloc
