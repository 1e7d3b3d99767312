//===- ThunkText.cpp - added functions as assembly ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/rewrite/ThunkText.h"
#include "passes/ir/CallReplacement.h"
#include "passes/rewrite/Assembly.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace smalloc {
namespace {

constexpr StringRef TextMetadata = "smalloc.text";

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

/// Emits the jump to the entry of \p To, which takes the bytes, the cell, the program's function
/// and its other argument. \p Count: arguments of \p Original. If the site is not marked for it
/// (\p Flags), the code after it runs.
static void jumpText(Assembly &A, const MarkedEntry &To, const Function &Original, unsigned Count,
                     StringRef Flags) {
  const StringRef Cell = Registers[Count];
  A.line("testl $" + Twine(To.Flag) + "," + Flags);
  A.line("je 4f");
  if (Count > 1) {
    A.line("movq %rsi,%rcx");
    A.line("movq " + Cell + ",%rsi");
  }
  A.line("movq " + Original.getName() + "@GOTPCREL(%rip),%rdx");
  A.line("jmp *" + To.Entry + "@GOTPCREL(%rip)");
  A.line("4:");
}

/// Emits calloc's product in %r8, or the largest value. The product is in %rax and %rdx first, and
/// mul overwrites the register of \p Cell.
static void productText(Assembly &A, StringRef Cell, StringRef CellKept) {
  A.line("movq " + Cell + "," + CellKept);
  A.line("movq %rdi,%rax");
  A.line("mulq %rsi");
  A.line("movq $-1,%r8");
  A.line("cmovnoq %rax,%r8");
}

/// Emits the call of the runtime's entry in %r11, and returns its result unless it is none: then
/// jumps to \p Plain. \p Arguments: registers of the thunk's arguments, before the cell.
static void servedText(Assembly &A, AllocFamily Family, ArrayRef<StringRef> Arguments,
                       StringRef Plain) {
  const StringRef Cell = Registers[Arguments.size()];
  A.enter(Arguments);
  // The runtime's entries take the first arguments of new, then the cell.
  const StringRef CellTo = Registers[!isNewFamily(Family)                     ? Arguments.size()
                                     : shapeOf(Family).AlignmentArgument >= 0 ? 2
                                                                              : 1];
  if (CellTo != Cell)
    A.line("movq " + Cell + "," + CellTo);
  A.line("call *%r11");
  A.leave(Arguments);
  A.line(Family == AllocFamily::PosixMemalign ? "cmpl $-1,%eax" : "testq %rax,%rax");
  A.line("je " + Plain);
  A.line("ret");
}

Function *sizedThunkText(Module &M, StringRef Name, AllocFamily Family, const Function &Original,
                         FunctionType *Type) {
  Function *F = declared(M, Name, Type);
  const FamilyShape Shape = shapeOf(Family);
  const unsigned Count = Type->getNumParams() - 1;
  const StringRef Cell = Registers[Count];
  const std::string Plain = (Original.getName() + "@PLT").str();
  const bool Zeroed = Family == AllocFamily::Calloc;
  const StringRef Bytes = Zeroed ? StringRef("%r8") : Registers[Shape.SizeArgument];
  const StringRef Word = Zeroed ? "%r11" : "%rax", Flags = Zeroed ? "%r11d" : "%eax",
                  CellKept = Zeroed ? StringRef("%r9") : Cell;
  Assembly A(M);
  A.weak(Shape.Entry);
  if (Shape.MayBeDirect)
    for (const MarkedEntry &To : MarkedEntries)
      A.weak(To.Entry);
  A.openFunction(Name);
  A.line("movq (" + Cell + ")," + Word);
  // The most frequent path falls through: a taken jump costs the call 1/20 of its time.
  if (Shape.MayBeDirect)
    for (const MarkedEntry &To : MarkedEntries)
      jumpText(A, To, Original, Count, Flags);
  A.line("testq " + Word + "," + Word);
  A.line("je " + Plain);
  if (Zeroed)
    productText(A, Cell, CellKept);
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
  servedText(A, Family, ArrayRef(Registers).take_front(Count), Plain);
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
