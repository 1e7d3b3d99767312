//===- AllocationSites.cpp - which calls allocate, and what their ids are ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "AllocationSites.h"
#include "AllocationWrappers.h"
#include "CallReplacement.h"
#include "ClearedSites.h"
#include "MemberPaths.h"
#include "SiteVariable.h"
#include "UnitName.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Analysis/OptimizationRemarkEmitter.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/xxhash.h"

using namespace llvm;

namespace smalloc {
namespace {

struct FamilyRow {
  AllocFamily Family;
  StringRef Name;
  StringRef Types; ///< result, then parameters: p pointer, l 64 bits, i 32 bits, b one bit, v void
};

constexpr FamilyRow Families[] = {
    {AllocFamily::Malloc, "malloc", "pl"},
    {AllocFamily::Calloc, "calloc", "pll"},
    {AllocFamily::Realloc, "realloc", "ppl"},
    {AllocFamily::AlignedAlloc, "aligned_alloc", "pll"},
    {AllocFamily::AlignedAlloc, "memalign", "pll"},
    {AllocFamily::PosixMemalign, "posix_memalign", "ipll"},
    {AllocFamily::Valloc, "valloc", "pl"},
    {AllocFamily::Pvalloc, "pvalloc", "pl"},
    {AllocFamily::ReallocArray, "reallocarray", "ppll"},
    {AllocFamily::New, "_Znwm", "pl"},
    {AllocFamily::NewArray, "_Znam", "pl"},
    {AllocFamily::NewNothrow, "_ZnwmRKSt9nothrow_t", "plp"},
    {AllocFamily::NewArrayNothrow, "_ZnamRKSt9nothrow_t", "plp"},
    {AllocFamily::NewAligned, "_ZnwmSt11align_val_t", "pll"},
    {AllocFamily::NewArrayAligned, "_ZnamSt11align_val_t", "pll"},
    {AllocFamily::NewAlignedNothrow, "_ZnwmSt11align_val_tRKSt9nothrow_t", "pllp"},
    {AllocFamily::NewArrayAlignedNothrow, "_ZnamSt11align_val_tRKSt9nothrow_t", "pllp"},
    {AllocFamily::FortranAllocate, "_FortranAAllocatableAllocate", "ippbppip"},
    {AllocFamily::FortranAllocate, "_FortranAPointerAllocate", "ipbppip"},
    {AllocFamily::FortranAssign, "_FortranAAssign", "vpppi"},
    {AllocFamily::FortranSource, "_FortranAAllocatableAllocateSource", "ippbppi"},
    {AllocFamily::FortranSource, "_FortranAPointerAllocateSource", "ippbppi"},
    {AllocFamily::FortranCopyIn, "_FortranACopyInAssign", "vpppi"},
    {AllocFamily::Mapping, "mmap", "ppliiil"},
    {AllocFamily::Mapping, "mmap64", "ppliiil"},
    {AllocFamily::Mapping, "numa_alloc", "pl"},
    {AllocFamily::Mapping, "numa_alloc_local", "pl"},
    {AllocFamily::Mapping, "numa_alloc_interleaved", "pl"},
    {AllocFamily::Mapping, "numa_alloc_onnode", "pli"},
};

/// How what a call passes and takes fits the prototype that the function has in its library.
enum class Fit { Not, Convertible, Exact };

Fit fitOf(const Type *T, char C) {
  auto FitIf = [](bool Fits) { return Fits ? Fit::Exact : Fit::Not; };
  switch (C) {
  case 'p':
    return FitIf(T->isPointerTy() && T->getPointerAddressSpace() == 0);
  case 'l':
    return T->isIntegerTy(64)                                 ? Fit::Exact
           : T->isIntegerTy() && T->getIntegerBitWidth() < 64 ? Fit::Convertible
                                                              : Fit::Not;
  case 'i':
    return FitIf(T->isIntegerTy(32));
  case 'b':
    return FitIf(T->isIntegerTy(1));
  default:
    return FitIf(T->isVoidTy());
  }
}

/// \p Call, of \p Callee by name. Sizes of another width, and calls without a prototype, can be made what the library expects.
Fit fitOf(const CallBase &Call, const Function &Callee, StringRef Types) {
  const FunctionType &F = *Call.getFunctionType();
  if (F.getNumParams() + 1 != Types.size() || Call.arg_size() != F.getNumParams() ||
      fitOf(F.getReturnType(), Types[0]) != Fit::Exact)
    return Fit::Not;
  Fit Worst = Fit::Exact;
  if (F.isVarArg()) { // f(): what is passed makes the type; f(size_t, ...) is another function
    if (Callee.isVarArg() && Callee.arg_size() > 0)
      return Fit::Not;
    Worst = Fit::Convertible;
  }
  for (unsigned I = 0; I < F.getNumParams(); ++I) {
    if (Call.isPassPointeeByValueArgument(I))
      return Fit::Not;
    Worst = std::min(Worst, fitOf(F.getParamType(I), Types[I + 1]));
  }
  return Worst;
}

constexpr StringRef HostedMetadata = "smalloc.hosted";

/// What \p Call calls, if that is an allocation function by its name.
const FamilyRow *calledRow(const CallBase &Call) {
  if (Call.isInlineAsm() || Call.isMustTailCall() || !isa<CallInst, InvokeInst>(Call))
    return nullptr;
  const auto *Callee = dyn_cast<Function>(Call.getCalledOperand()->stripPointerCastsAndAliases());
  if (!Callee || !Callee->isDeclaration())
    return nullptr;
  // By name and prototype: "allockind" is inferred later in the pipeline, and a hand-written ::operator new is
  // "nobuiltin", which only forbids eliding it.
  const StringRef Name = Callee->getName();
  const auto *Row = find_if(Families, [&](const FamilyRow &R) { return R.Name == Name; });
  return Row == std::end(Families) ? nullptr : Row;
}

/// mmap of private, anonymous, readable and writable memory at any address, of no special kind.
bool mapsPlainMemory(const CallBase &Call) {
  const Triple &T = Call.getModule()->getTargetTriple();
  if (!T.isOSLinux() || !(T.isX86() || T.isAArch64() || T.isRISCV())) // the numbers below
    return false;
  constexpr uint64_t ReadWrite = 3, PrivateAnonymous = 0x22, NoReserve = 0x4000, Populate = 0x8000;
  auto *Protection = dyn_cast<ConstantInt>(Call.getArgOperand(2)),
       *Flags = dyn_cast<ConstantInt>(Call.getArgOperand(3));
  return isa<ConstantPointerNull>(Call.getArgOperand(0)) && Protection && Flags &&
         Protection->getZExtValue() == ReadWrite &&
         (Flags->getZExtValue() & ~(NoReserve | Populate)) == PrivateAnonymous;
}

/// \p Argument of an integer type as the callee's 64-bit parameter finds it. Up to 32 bits the call says how it is extended;
/// beyond, only where the calling convention keeps narrow integers extended to a whole register. Everywhere else instructions of
/// 32 bits have made it, which clear the rest.
Value *asPassed(IRBuilder<> &B, const CallBase &Call, unsigned I) {
  Value *Argument = Call.getArgOperand(I);
  const bool Signed = Call.paramHasAttr(I, Attribute::SExt);
  const Triple &T = Call.getModule()->getTargetTriple();
  if (Signed && Argument->getType()->getIntegerBitWidth() < 32 && !T.isRISCV() && !T.isPPC())
    Argument = B.CreateSExt(Argument, B.getInt32Ty());
  return B.CreateIntCast(Argument, B.getInt64Ty(), Signed && (T.isRISCV() || T.isPPC()));
}

/// Makes \p Call, which is Convertible, one of the prototype \p Types. The declaration stays as it is, so that nothing but a size
/// is taken for what it is not: to LLVM the function is none that it knows.
void callByPrototype(CallBase &Call, StringRef Types) {
  LLVMContext &C = Call.getContext();
  IRBuilder<> B(&Call);
  AttributeList Attributes = Call.getAttributes();
  SmallVector<Value *, 4> Arguments;
  SmallVector<Type *, 4> Parameters;
  for (unsigned I = 0; I < Call.arg_size(); ++I) {
    Value *Passed = Call.getArgOperand(I);
    if (Types[I + 1] == 'l' && !Passed->getType()->isIntegerTy(64)) {
      Passed = asPassed(B, Call, I);
      Attributes = Attributes.removeParamAttributes(C, I); // of the other type
    }
    Arguments.push_back(Passed);
    Parameters.push_back(Passed->getType());
  }
  callInstead(Call, {FunctionType::get(Call.getType(), Parameters, false), Call.getCalledOperand()},
              Arguments, Attributes);
}

/// What one call of an allocation function of \p M is to have done to it.
using ForeignCall = function_ref<void(CallBase &, const FamilyRow &, Fit)>;

/// Shows \p Do the calls of allocation functions whose types are not those of the library.
void forForeignPrototypes(Module &M, ForeignCall Do) {
  for (const FamilyRow &Row : Families) {
    Function *Callee = M.getFunction(Row.Name);
    if (!Callee || !Callee->isDeclaration())
      continue;
    SmallVector<CallBase *, 4> Calls;
    for (User *U : Callee->users())
      if (auto *Call = dyn_cast<CallBase>(U);
          Call && Call->getCalledOperand() == Callee && !leavesAlone(*Call->getFunction()))
        Calls.push_back(Call);
    for (CallBase *Call : Calls) {
      const Fit How = fitOf(*Call, *Callee, Row.Types);
      if (How != Fit::Exact && calledRow(*Call))
        Do(*Call, Row, How);
    }
  }
}

/// A file or what the operating system gives is mapped: most calls of mmap are no allocations.
void emitPrototypeRemark(const CallBase &Call, const FamilyRow &Row, FunctionAnalysisManager &FAM) {
  if (Row.Name.starts_with("mmap"))
    return;
  std::string Types;
  raw_string_ostream(Types) << *Call.getFunctionType();
  FAM.getResult<OptimizationRemarkEmitterAnalysis>(*const_cast<Function *>(Call.getFunction()))
      .emit([&] {
        return OptimizationRemarkMissed("smalloc", "Prototype", &Call)
               << "left alone: " << ore::NV("Callee", Row.Name)
               << " is called with another prototype: " << ore::NV("Types", Types);
      });
}

/// Path of the unit's source relative to \p Root, with '/' separators; the same wherever the tree is checked out.
std::string relativeSource(const Module &M, StringRef Root) {
  SmallString<256> Source(M.getSourceFileName()), Base(Root);
  if (Base.empty())
    sys::fs::current_path(Base);
  else
    sys::fs::make_absolute(Base);
  sys::fs::make_absolute(Source);
  sys::path::remove_dots(Source, /*remove_dot_dot=*/true);
  sys::path::remove_dots(Base, /*remove_dot_dot=*/true);
  StringRef Relative(Source);
  if (Relative.starts_with(Base) &&
      (Relative.size() == Base.size() || Relative[Base.size()] == '/'))
    Relative = Relative.drop_front(Base.size()).ltrim('/');
  else if (const StringRef Name = unitName(M); Name != M.getSourceFileName())
    Relative = Name;
  return sys::path::convert_to_slash(Relative);
}

/// A call that may turn out to be a context: of a function that looks like an allocator, or of one in this unit that
/// calls anything like it (nothing more is known before the first optimisation).
bool mayBeContext(const CallBase &Call, const TargetLibraryInfo &TLI) {
  const Function *Callee = Call.getCalledFunction();
  if (!Callee || !mayBeWrapperCall(Call, TLI))
    return false;
  if (Callee->isDeclaration())
    return true;
  return any_of(instructions(*Callee), [&](const Instruction &I) {
    auto *Inner = dyn_cast<CallBase>(&I);
    return Inner && !givesNoMemory(*Inner) && Inner->getCalledFunction() != Callee &&
           (allocationFamily(*Inner) || mayBeWrapperCall(*Inner, TLI));
  });
}

/// A call that may turn out to hand out memory through an argument: of a function of this unit that calls anything like an
/// allocation. \p Known: what was found of such functions.
bool mayHandOut(const CallBase &Call, const TargetLibraryInfo &TLI,
                DenseMap<const Function *, bool> &Known) {
  const Function *Callee = Call.getCalledFunction();
  if (!Callee || Callee->isDeclaration() || Callee->getReturnType()->isPtrOrPtrVectorTy() ||
      none_of(Callee->args(), [](const Argument &A) { return A.getType()->isPointerTy(); }))
    return false;
  auto [It, New] = Known.try_emplace(Callee, false);
  if (!New)
    return It->second;
  const bool May = any_of(instructions(*Callee), [&](const Instruction &I) {
    auto *Inner = dyn_cast<CallBase>(&I);
    if (!Inner || isa<IntrinsicInst>(Inner))
      return false;
    return givesNoMemory(*Inner) ? mayHandOut(*Inner, TLI, Known)
                                 : allocationFamily(*Inner) || mayBeWrapperCall(*Inner, TLI);
  });
  return Known[Callee] = May;
}

} // namespace

bool givesNoMemory(const CallBase &Call) {
  if (isa<IntrinsicInst>(Call))
    return true;
  if (Call.getType()->isPtrOrPtrVectorTy())
    return false;
  const StringRef Callee = Call.getCalledOperand()->stripPointerCastsAndAliases()->getName();
  return Callee != "posix_memalign" && !Callee.starts_with("_FortranA");
}

unsigned mappedBytesArgument(const Function &F) { return F.getName().starts_with("mmap") ? 1 : 0; }

std::optional<AllocFamily> allocationFamily(const CallBase &Call) {
  const FamilyRow *Row = calledRow(Call);
  if (!Row)
    return std::nullopt;
  const auto *Callee = cast<Function>(Call.getCalledOperand()->stripPointerCastsAndAliases());
  if (fitOf(Call, *Callee, Row->Types) != Fit::Exact ||
      (Row->Name.starts_with("mmap") && !mapsPlainMemory(Call)))
    return std::nullopt;
  return Row->Family;
}

bool definesAllocator(const Module &M, std::string *Name) {
  for (const Function &F : M) {
    if (F.isDeclaration() || F.hasAvailableExternallyLinkage() || F.hasLocalLinkage())
      continue;
    StringRef N = F.getName();
    bool Ours = N == "free" || N.starts_with("_ZdlPv") || N.starts_with("_ZdaPv") ||
                any_of(Families, [&](const FamilyRow &Row) {
                  return Row.Family < AllocFamily::Wrapper && Row.Name == N;
                });
    if (!Ours)
      continue;
    if (Name)
      *Name = N.str();
    return true;
  }
  for (const GlobalAlias &A : M.aliases())
    if (!A.hasLocalLinkage() && (A.getName() == "free" || A.getName() == "malloc")) {
      if (Name)
        *Name = A.getName().str();
      return true;
    }
  return false;
}

bool leavesAlone(const Function &F) {
  return F.isDeclaration() || F.hasAvailableExternallyLinkage() || F.hasOptNone() ||
         F.hasFnAttribute(Attribute::Naked) ||
         (F.hasFnAttribute("no-builtins") && !isHosted(*F.getParent()));
}

bool isHosted(const Module &M) { return M.getNamedMetadata(HostedMetadata); }

unsigned callsWithoutBuiltins(const Module &M) {
  unsigned Calls = 0;
  if (!isHosted(M))
    for (const Function &F : M)
      if (F.hasFnAttribute("no-builtins"))
        for (const Instruction &I : instructions(F))
          if (auto *Call = dyn_cast<CallBase>(&I); Call && allocationFamily(*Call))
            ++Calls;
  return Calls;
}

bool isHostTarget(const Triple &Target) {
  const bool IsHost = Target.getArch() == Triple::x86_64 || Target.getArch() == Triple::aarch64 ||
                      Target.isPPC64() || Target.isRISCV64();
  return IsHost && Target.isOSBinFormatELF() && Target.getEnvironment() != Triple::GNUX32 &&
         Target.getEnvironment() != Triple::GNUILP32 && Target.getEnvironment() != Triple::MuslX32;
}

/// The unit is code of a processor that the program's host drives, whatever the processor.
static bool isDeviceCode(const Module &M) { return M.getModuleFlag("openmp-device"); }

static bool isSanitized(const Module &M) {
  static constexpr Attribute::AttrKind Kinds[] = {
      Attribute::SanitizeAddress, Attribute::SanitizeThread, Attribute::SanitizeMemory,
      Attribute::SanitizeHWAddress, Attribute::SanitizeType};
  return any_of(M, [](const Function &F) {
    return any_of(Kinds, [&](Attribute::AttrKind K) { return F.hasFnAttribute(K); });
  });
}

bool isServed(const Module &M) {
  return isHostTarget(M.getTargetTriple()) && M.getDataLayout().getPointerSizeInBits() == 64 &&
         !isDeviceCode(M) && !isSanitized(M);
}

bool hasAllocTokens(const Module &M) {
  return any_of(M,
                [](const Function &F) { return F.hasFnAttribute(Attribute::SanitizeAllocToken); });
}

Value *withoutOverflowCheck(Value *Size) {
  if (auto *Select = dyn_cast<SelectInst>(Size)) {
    auto IsAllOnes = [](Value *V) {
      auto *C = dyn_cast<ConstantInt>(V);
      return C && C->isMinusOne();
    };
    if (IsAllOnes(Select->getTrueValue()))
      return Select->getFalseValue();
    if (IsAllOnes(Select->getFalseValue()))
      return Select->getTrueValue();
  }
  return Size;
}

PreservedAnalyses AllocationSitesPass::run(Module &M, ModuleAnalysisManager &AM) {
  if (!isServed(M) || hasAllocTokens(M))
    return PreservedAnalyses::all();
  auto &FAM = AM.getResult<FunctionAnalysisManagerModuleProxy>(M).getManager();
  std::string Source;
  bool Changed = false;
  if (Phase == When::PipelineStart) {
    recordPointees(M);
    if (Hosted && any_of(M, [](const Function &F) { return F.hasFnAttribute("no-builtins"); }))
      M.getOrInsertNamedMetadata(HostedMetadata);
  }
  forForeignPrototypes(M, [&](CallBase &Call, const FamilyRow &Row, Fit How) {
    if (How == Fit::Convertible) {
      callByPrototype(Call, Row.Types);
      Changed = true;
    } else if (Phase == When::Later) {
      emitPrototypeRemark(Call, Row, FAM);
    }
  });
  DenseMap<const Function *, bool> HandOut;
  std::optional<ClearableSites> Clearable;
  if (Phase == When::Later)
    Clearable.emplace(M);
  for (Function &F : M) {
    if (leavesAlone(F))
      continue;
    const TargetLibraryInfo &TLI = FAM.getResult<TargetLibraryAnalysis>(F);
    StringMap<unsigned> Ordinals;
    for (Instruction &I : instructions(F)) {
      auto *Call = dyn_cast<CallBase>(&I);
      if (!Call)
        continue;
      const bool GivesNone = givesNoMemory(*Call);
      const int Out = GivesNone ? mayHandOutThrough(*Call, TLI) : -1;
      if (GivesNone && Out < 0 && !mayHandOut(*Call, TLI, HandOut))
        continue;
      std::optional<AllocFamily> Family = allocationFamily(*Call);
      if (!GivesNone && !Family && (calledRow(*Call) || !mayBeContext(*Call, TLI)))
        continue;
      const StringRef Callee = Call->getCalledOperand()->stripPointerCastsAndAliases()->getName();
      const StringRef IdAttr = Family ? SiteIdAttr : ContextIdAttr;
      unsigned Ordinal = Ordinals[Callee]++;
      if (Call->hasFnAttr(IdAttr))
        continue;
      if (Clearable && Family == AllocFamily::Calloc && Clearable->takeOver(*Call)) {
        Changed = true;
        continue;
      }
      std::string Key;
      if (!F.hasLinkOnceLinkage() && !F.hasWeakLinkage()) {
        if (Source.empty())
          Source = relativeSource(M, Root);
        Key = Source;
      }
      Key += '\0';
      Key += F.getName();
      Key += '\0';
      Key += Callee;
      Key += '\0';
      Key += utostr(Ordinal);
      if (Phase == When::Later)
        Key += " late"; // must not meet the id of an early site with the same ordinal
      LLVMContext &Context = M.getContext();
      Call->addFnAttr(Attribute::get(
          Context, IdAttr, utohexstr(xxh3_64bits(Key), /*LowerCase=*/true, /*Width=*/16)));
      StringRef WrittenIn = F.getName();
      if (const DILocation *Location = Call->getDebugLoc(); Location && Phase == When::Later)
        if (const DISubprogram *In = Location->getScope()->getSubprogram())
          WrittenIn = In->getLinkageName().empty() ? In->getName() : In->getLinkageName();
      Call->addFnAttr(Attribute::get(Context, SiteFunctionAttr, WrittenIn));
      if (Phase == When::PipelineStart) {
        const bool Stores = Out >= 0 || (Family && storesResult(*Family));
        const Value *Place =
            Stores ? Call->getArgOperand(static_cast<unsigned>(std::max(Out, 0))) : nullptr;
        if (const std::string Name = variableOf(*Call, Place); !Name.empty())
          Call->addFnAttr(Attribute::get(Context, SiteVariableAttr, Name));
      }
      if (Out >= 0 && Phase != When::Later)
        Call->addFnAttr(Attribute::get(Context, OutAttr, utostr(static_cast<unsigned>(Out))));
      Changed = true;
    }
  }
  if (!Changed)
    return PreservedAnalyses::all();
  if (Phase == When::PipelineStart)
    keepClearableSites(M);
  PreservedAnalyses Preserved;
  Preserved.preserveSet<CFGAnalyses>();
  return Preserved;
}

} // namespace smalloc
