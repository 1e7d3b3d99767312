//===- ThunkText.cpp - added functions as assembly ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/rewrite/ThunkText.h"
#include "passes/ir/CallReplacement.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace smalloc {
namespace {

constexpr StringRef TextMetadata = "smalloc.text";

/// Registers of the first arguments, and a register for the target of a tail call.
constexpr StringRef Registers[] = {"%rdi", "%rsi", "%rdx", "%rcx", "%r8", "%r9"};
constexpr StringRef ThroughRegister = "%r11";

/// Assembly of hidden functions, of which the linker keeps one copy per image. The destructor
/// appends it to the module.
class Assembly {
public:
  explicit Assembly(Module &M)
      : M(M), FramePointers(M.getFramePointer() != FramePointerKind::None),
        Landings(M.getModuleFlag("cf-protection-branch") != nullptr) {}
  ~Assembly() { M.appendModuleInlineAsm(Out); }

  void line(const Twine &T) { (T + "\n").toVector(Buffer), take(); }
  void weak(StringRef Symbol) { line(".weak " + Symbol); }
  void hidden(StringRef Symbol) { line(".hidden " + Symbol); }

  /// Opens \p Symbol in a section and a COMDAT of its own, up to close().
  void open(StringRef Section, StringRef Flags, StringRef Symbol, StringRef Type) {
    line(".pushsection " + Section + Symbol + ",\"" + Flags + "\",@progbits," + Symbol + ",comdat");
    hidden(Symbol);
    weak(Symbol);
    line(".type " + Symbol + ",@" + Type);
    line(Type == "function" ? ".p2align 4" : ".p2align 3");
    line(Symbol + ":");
  }
  void close(StringRef Symbol) {
    line(".size " + Symbol + ",.-" + Symbol);
    line(".popsection");
  }
  void openFunction(StringRef Symbol) {
    open(".text.", "axG", Symbol, "function");
    line(".cfi_startproc");
  }
  void closeFunction(StringRef Symbol) {
    line(".cfi_endproc");
    close(Symbol);
  }
  /// Marks the entry of a function whose address is taken.
  void landing() {
    if (Landings)
      line("endbr64");
  }

  /// Saves the registers \p Kept up to leave(), and aligns the stack there.
  void enter(ArrayRef<StringRef> Kept) {
    if (FramePointers) {
      push("%rbp");
      line(".cfi_rel_offset %rbp,0");
      line("movq %rsp,%rbp");
    }
    for (StringRef Register : Kept)
      push(Register);
    if (needsPadding(Kept))
      push("%rax"); // padding
  }
  void leave(ArrayRef<StringRef> Kept) {
    if (needsPadding(Kept))
      pop(ThroughRegister);
    for (StringRef Register : reverse(Kept))
      pop(Register);
    if (FramePointers) {
      pop("%rbp");
      line(".cfi_restore %rbp");
    }
  }

private:
  void take() {
    Out.append(Buffer.begin(), Buffer.end());
    Buffer.clear();
  }
  void push(StringRef Register) {
    line("pushq " + Register);
    line(".cfi_adjust_cfa_offset 8");
  }
  void pop(StringRef Register) {
    line("popq " + Register);
    line(".cfi_adjust_cfa_offset -8");
  }
  /// True if the stack is off by eight after the return address, the frame pointer and \p Kept.
  bool needsPadding(ArrayRef<StringRef> Kept) const {
    return (Kept.size() + FramePointers) % 2 == 0;
  }

  Module &M;
  bool FramePointers, Landings;
  std::string Out;
  SmallString<128> Buffer;
};

Function *declared(Module &M, StringRef Name, FunctionType *Type) {
  Function *F = Function::Create(Type, GlobalValue::ExternalLinkage, Name, M);
  F->setVisibility(GlobalValue::HiddenVisibility);
  F->setDSOLocal(true);
  return F;
}

} // namespace

void addAsText(Module &M) { M.getOrInsertNamedMetadata(TextMetadata); }
bool isAddedAsText(const Module &M) { return M.getNamedMetadata(TextMetadata); }

bool mayCallFromText(const Function &Original) {
  return Original.isDeclaration() && !Original.isIntrinsic() &&
         all_of(Original.getName(),
                [](char C) { return isAlnum(C) || C == '_' || C == '$' || C == '.'; });
}

Function *sizedThunkText(Module &M, StringRef Name, AllocFamily Family, const FamilyShape &Shape,
                         const Function &Original, FunctionType *Type) {
  Function *F = declared(M, Name, Type);
  const unsigned Count = Type->getNumParams() - 1;
  const ArrayRef<StringRef> Arguments = ArrayRef(Registers).take_front(Count);
  const StringRef Cell = Registers[Count];
  const std::string Plain = (Original.getName() + "@PLT").str();
  const bool Zeroed = Family == AllocFamily::Calloc;
  const StringRef Bytes = Zeroed ? StringRef("%r8") : Registers[Shape.SizeArgument];
  // calloc computes the product in %rax and %rdx.
  const StringRef Word = Zeroed ? "%r11" : "%rax", Flags = Zeroed ? "%r11d" : "%eax",
                  CellKept = Zeroed ? StringRef("%r9") : Cell;
  const StringRef Small = "__smalloc_v1_small";
  Assembly A(M);
  A.weak(Shape.Entry);
  if (Shape.MayBeDirect)
    A.weak(Small);
  A.openFunction(Name);
  A.line("movq (" + Cell + ")," + Word);
  // The most frequent path falls through: a taken jump costs the call 1/20 of its time.
  if (Shape.MayBeDirect) { // bytes, cell, the program's function, its other arguments
    A.line("testl $" + Twine(SMALLOC_CELL_DIRECT) + "," + Flags);
    A.line("je 4f");
    if (Count > 1) {
      A.line("movq %rsi,%rcx");
      A.line("movq " + Cell + ",%rsi");
    }
    A.line("movq " + Original.getName() + "@GOTPCREL(%rip),%rdx");
    A.line("jmp *" + Small + "@GOTPCREL(%rip)");
    A.line("4:");
  }
  A.line("testq " + Word + "," + Word);
  A.line("je " + Plain);
  if (Zeroed) { // the product, or the largest value; mul overwrites the cell's register
    A.line("movq " + Cell + "," + CellKept);
    A.line("movq %rdi,%rax");
    A.line("mulq %rsi");
    A.line("movq $-1,%r8");
    A.line("cmovnoq %rax,%r8");
  }
  A.line("testl $" + Twine(SMALLOC_SITE_SMALL << 8) + "," + Flags);
  A.line("jne 3f");
  A.line("shrq $20," + Word);
  A.line("andq $-4096," + Word);
  A.line("leaq 4095(" + Bytes + "),%r10");
  A.line("cmpq " + Word + ",%r10");
  A.line("jb " + Plain);
  A.line("3: movq " + Shape.Entry + "@GOTPCREL(%rip),%r11");
  A.line("testq %r11,%r11");
  A.line("je " + Plain);
  if (CellKept != Cell)
    A.line("movq " + CellKept + "," + Cell);
  A.enter(Arguments);
  // The runtime's entries take the first arguments of new, then the cell.
  const StringRef CellTo = Registers[!isNewFamily(Family)           ? Count
                                     : Shape.AlignmentArgument >= 0 ? 2
                                                                    : 1];
  if (CellTo != Cell)
    A.line("movq " + Cell + "," + CellTo);
  A.line("call *%r11");
  A.leave(Arguments);
  A.line(Family == AllocFamily::PosixMemalign ? "cmpl $-1,%eax" : "testq %rax,%rax");
  A.line("je " + Plain);
  A.line("ret");
  A.closeFunction(Name);
  return F;
}

constexpr StringRef TestingPrefix = "__smalloc_v1_testing_";
/// Attribute of a thunk that tests: the name of the thunk that does not.
constexpr StringRef TestedAttr = "smalloc-tested";

bool mayTestInText(const Function &Thunk, const SizeTests &Tests) {
  return Thunk.arg_size() + Tests.Sizes.size() <= std::size(Registers) &&
         all_of(Tests.Sizes, [](const Value *Size) { return Size->getType()->isIntegerTy(); });
}

void dropTests(CallBase &Call) {
  const Function *Callee = Call.getCalledFunction();
  const Attribute Tested = Callee ? Callee->getFnAttribute(TestedAttr) : Attribute();
  if (!Tested.isValid())
    return;
  Function *Thunk = Call.getModule()->getFunction(Tested.getValueAsString());
  SmallVector<Value *, 4> Arguments(drop_end(Call.args(), Call.arg_size() + 1 - Thunk->arg_size()));
  Arguments.push_back(*std::prev(Call.arg_end()));
  callInstead(Call, Thunk, Arguments, Call.getAttributes());
}

/// Emits a jump to label 1 unless \p Register lies within \p Bounds.
static void compareText(Assembly &A, StringRef Register, const SizeBounds &Bounds) {
  const auto Compare = [&](uint64_t With, StringRef Jump) {
    const bool Short = isUInt<31>(With);
    if (!Short)
      A.line("movabsq $" + Twine(With) + ",%rax");
    A.line("cmpq " + (Short ? "$" + Twine(With).str() : std::string("%rax")) + "," + Register);
    A.line(Jump + " 1f");
  };
  if (Bounds.Least > 0)
    Compare(Bounds.Least, "jb");
  if (Bounds.Most != UINT64_MAX)
    Compare(Bounds.Most, "ja");
}

Function *testingThunkText(Module &M, const Function &Original, Function &Thunk,
                           const SizeTests &Tests) {
  std::string Name = (TestingPrefix + Original.getName()).str();
  for (const auto &All : Tests.Any) {
    Name += "_";
    for (const SizeTests::Test &T : All) {
      Name += formatv("s{0}f{1}", T.Size, T.Bounds.Least).str();
      if (T.Bounds.Most != UINT64_MAX)
        Name += "t" + utostr(T.Bounds.Most);
    }
  }
  if (Function *Known = M.getFunction(Name))
    return Known;
  SmallVector<Type *, 6> Parameters(Thunk.getFunctionType()->params());
  const size_t Count = Parameters.size() - 1; // without the cell
  Parameters.insert(Parameters.begin() + static_cast<std::ptrdiff_t>(Count), Tests.Sizes.size(),
                    Type::getInt64Ty(M.getContext()));
  Function *F =
      declared(M, Name, FunctionType::get(Thunk.getReturnType(), Parameters, /*isVarArg=*/false));
  F->addFnAttr(TestedAttr, Thunk.getName());
  const StringRef NoCell = "__smalloc_v1_no_cell", Given = Registers[Count + Tests.Sizes.size()];
  const bool First = !M.getNamedMetadata(NoCell);
  M.getOrInsertNamedMetadata(NoCell);
  Assembly A(M);
  if (First) {
    A.open(".rodata.", "aG", NoCell, "object");
    A.line(".zero " + Twine(sizeof(smalloc_cell)));
    A.close(NoCell);
  }
  A.openFunction(Name);
  for (const auto &All : Tests.Any) {
    for (const SizeTests::Test &T : All)
      compareText(A, Registers[Count + T.Size], T.Bounds);
    A.line("jmp 2f");
    A.line("1:");
  }
  A.line("movq (" + Given + "),%rax");
  A.line("andq $" + Twine(WordOfDeciders) + ",%rax");
  A.line("cmpq $" + Twine(WordOfCompiler) + ",%rax");
  A.line("jne 2f");
  A.line("leaq " + NoCell + "(%rip)," + Given);
  A.line("2: movq " + Given + "," + Registers[Count]);
  A.line("jmp " + Thunk.getName());
  A.closeFunction(Name);
  return F;
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

  const std::pair<StringRef, size_t> Bounds[] = {
      {"__start_smalloc_sites", offsetof(smalloc_module, sites_start)},
      {"__stop_smalloc_sites", offsetof(smalloc_module, sites_stop)},
      {"__start_smalloc_keys", offsetof(smalloc_module, keys_start)},
      {"__stop_smalloc_keys", offsetof(smalloc_module, keys_stop)}};
  // Takes the addresses from this image's GOT, never from a canonical PLT entry of the executable.
  const std::pair<StringRef, size_t> Resolved[] = {
      {"free", offsetof(smalloc_module, free_function)},
      {"realloc", offsetof(smalloc_module, realloc_function)},
      {"_ZdlPv", offsetof(smalloc_module, delete_function)}};
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
    for (auto [Symbol, At] : First ? ArrayRef(Bounds) : ArrayRef<std::pair<StringRef, size_t>>()) {
      A.hidden(Symbol);
      // The linker makes no PLT entry for it, but GNU ld keeps the symbol out of the dynamic table
      // (emitModuleRecord).
      A.line("leaq " + Symbol + "@PLT(%rip),%rax");
      A.line("movq %rax," + Twine(At) + "(%rdi)");
    }
    for (auto [Symbol, At] :
         First ? ArrayRef(Resolved) : ArrayRef<std::pair<StringRef, size_t>>()) {
      A.line("movq " + Symbol + "@GOTPCREL(%rip),%rax");
      A.line("movq %rax," + Twine(At) + "(%rdi)");
    }
    A.line("jmp *%r11");
    A.line("1: ret");
    A.closeFunction(Name);
    A.line(".pushsection ." + Array + ".1,\"awG\",@" + Array + "," + Name + ",comdat");
    A.line(".p2align 3");
    A.line(".quad " + Name);
    A.line(".popsection");
  }
}

void leftText(Module &M, StringRef Name) {
  Assembly A(M);
  A.open(".tdata.", "awTG", Name, "tls_object");
  A.line(".quad " + Twine(SMALLOC_TOUCH_BATCH));
  A.close(Name);
}

/// Emits a count as countInThunk() of PromotionGuards does: returns, or continues at label 3.
static void countText(Assembly &A, StringRef Left) {
  A.line("movq " + Left + "@GOTTPOFF(%rip),%r11");
  A.line("subq %rsi,%fs:(%r11)");
  A.line("jb 3f");
  A.line("ret");
  A.line("3:");
}

/// Emits code that sets %rsi to the misses to report, and updates the thread's count. It overwrites
/// %rax and %rcx, which must be saved.
static void batchText(Assembly &A, StringRef Left) {
  A.line("movq " + Left + "@GOTTPOFF(%rip),%rcx");
  A.line("movl $" + Twine(SMALLOC_TOUCH_BATCH) + ",%eax");
  A.line("cmpq %rax,%rsi");
  A.line("movq %rax,%rsi");
  A.line("ja 4f");
  A.line("addq %rax,%fs:(%rcx)");
  A.line("jmp 5f");
  A.line("4: subq %fs:(%rcx),%rsi");
  A.line("movq %rax,%fs:(%rcx)");
  A.line("5:");
}

/// Emits a call of \p Entry with the arguments that \p Prepare leaves, and a return. Without
/// \p Entry, it jumps back to label 1. The call preserves all general registers but %r11.
static void callKeepingRegisters(Assembly &A, StringRef Entry, function_ref<void()> Prepare) {
  const StringRef Kept[] = {"%rax", "%rcx", "%rdx", "%rsi", "%rdi", "%r8", "%r9", "%r10"};
  A.line("movq " + Entry + "@GOTPCREL(%rip),%r11");
  A.line("testq %r11,%r11");
  A.line("je 1b");
  A.enter(Kept);
  Prepare();
  A.line("call *%r11");
  A.leave(Kept);
  A.line("ret");
}

Function *waitingText(Module &M, StringRef Name, const WaitingSymbols &Symbols) {
  LLVMContext &C = M.getContext();
  Function *F =
      declared(M, Name,
               FunctionType::get(Type::getVoidTy(C),
                                 {PointerType::getUnqual(C), Type::getInt64Ty(C)}, false));
  F->setDoesNotThrow();
  F->setCallingConv(CallingConv::PreserveMost);
  const bool Counts = !Symbols.Left.empty();
  Assembly A(M);
  A.weak(Symbols.Pending);
  A.weak(Symbols.Entry);
  A.openFunction(Name);
  A.line("movq " + Symbols.Pending + "@GOTPCREL(%rip),%r11");
  A.line("testq %r11,%r11");
  A.line("je 1f");
  A.line("cmpl $0,(%r11)");
  A.line("jne 2f");
  A.line("1: ret");
  A.line("2:");
  if (Counts)
    countText(A, Symbols.Left);
  callKeepingRegisters(A, Symbols.Entry, [&] {
    if (Counts)
      batchText(A, Symbols.Left);
  });
  A.closeFunction(Name);
  return F;
}

Function *fillingText(Module &M, StringRef Name, StringRef Entry, uint64_t Least,
                      FunctionType *Type) {
  Function *F = declared(M, Name, Type);
  F->setDoesNotThrow();
  F->setCallingConv(CallingConv::PreserveMost);
  Assembly A(M);
  A.weak(Entry);
  A.openFunction(Name);
  A.line("cmpq $" + Twine(Least) + ",%rdx");
  A.line("jae 2f");
  A.line("1: ret");
  A.line("2:");
  callKeepingRegisters(A, Entry, [] {});
  A.closeFunction(Name);
  return F;
}

} // namespace smalloc
