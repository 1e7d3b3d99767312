//===- AllocationSites.cpp - which calls allocate, and what their ids are ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "AllocationSites.h"
#include "AllocationWrappers.h"
#include "ClearedSites.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/DebugInfoMetadata.h"
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
  LibFunc Function;
  StringRef Name;
};

constexpr FamilyRow Families[] = {
    {AllocFamily::Malloc, LibFunc_malloc, "malloc"},
    {AllocFamily::Calloc, LibFunc_calloc, "calloc"},
    {AllocFamily::Realloc, LibFunc_realloc, "realloc"},
    {AllocFamily::AlignedAlloc, LibFunc_aligned_alloc, "aligned_alloc"},
    {AllocFamily::PosixMemalign, LibFunc_posix_memalign, "posix_memalign"},
    {AllocFamily::New, LibFunc_Znwm, "_Znwm"},
    {AllocFamily::NewArray, LibFunc_Znam, "_Znam"},
    {AllocFamily::NewNothrow, LibFunc_ZnwmRKSt9nothrow_t, "_ZnwmRKSt9nothrow_t"},
    {AllocFamily::NewArrayNothrow, LibFunc_ZnamRKSt9nothrow_t, "_ZnamRKSt9nothrow_t"},
    {AllocFamily::NewAligned, LibFunc_ZnwmSt11align_val_t, "_ZnwmSt11align_val_t"},
    {AllocFamily::NewArrayAligned, LibFunc_ZnamSt11align_val_t, "_ZnamSt11align_val_t"},
    {AllocFamily::NewAlignedNothrow, LibFunc_ZnwmSt11align_val_tRKSt9nothrow_t,
     "_ZnwmSt11align_val_tRKSt9nothrow_t"},
    {AllocFamily::NewArrayAlignedNothrow, LibFunc_ZnamSt11align_val_tRKSt9nothrow_t,
     "_ZnamSt11align_val_tRKSt9nothrow_t"},
};

struct TypedRow {
  AllocFamily Family;
  StringRef Name,
      Types; ///< result, then parameters: p pointer, l 64 bits, i 32 bits, b one bit, v void
};

/// No library functions to LLVM: by name and types.
constexpr TypedRow OtherFunctions[] = {
    {AllocFamily::FortranAllocate, "_FortranAAllocatableAllocate", "ippbppip"},
    {AllocFamily::FortranAllocate, "_FortranAPointerAllocate", "ipbppip"},
    {AllocFamily::FortranAssign, "_FortranAAssign", "vpppi"},
    {AllocFamily::Mapping, "mmap", "ppliiil"},
    {AllocFamily::Mapping, "mmap64", "ppliiil"},
    {AllocFamily::Mapping, "numa_alloc", "pl"},
    {AllocFamily::Mapping, "numa_alloc_local", "pl"},
    {AllocFamily::Mapping, "numa_alloc_interleaved", "pl"},
    {AllocFamily::Mapping, "numa_alloc_onnode", "pli"},
};

bool hasTypes(const FunctionType &F, StringRef Types) {
  auto Is = [](const Type *T, char C) {
    return C == 'p'   ? T->isPointerTy()
           : C == 'l' ? T->isIntegerTy(64)
           : C == 'i' ? T->isIntegerTy(32)
           : C == 'b' ? T->isIntegerTy(1)
                      : T->isVoidTy();
  };
  if (F.isVarArg() || F.getNumParams() + 1 != Types.size() || !Is(F.getReturnType(), Types[0]))
    return false;
  for (unsigned I = 0; I < F.getNumParams(); ++I)
    if (!Is(F.getParamType(I), Types[I + 1]))
      return false;
  return true;
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
           (allocationFamily(*Inner, TLI) || mayBeWrapperCall(*Inner, TLI));
  });
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

StringRef familyCallee(AllocFamily Family) {
  for (const FamilyRow &Row : Families)
    if (Row.Family == Family)
      return Row.Name;
  llvm_unreachable("every family of allocation functions has a row");
}

unsigned mappedBytesArgument(const Function &F) { return F.getName().starts_with("mmap") ? 1 : 0; }

std::optional<AllocFamily> allocationFamily(const CallBase &Call, const TargetLibraryInfo &TLI) {
  if (Call.isInlineAsm() || Call.isMustTailCall() || !isa<CallInst, InvokeInst>(Call))
    return std::nullopt;
  const auto *Callee = dyn_cast<Function>(Call.getCalledOperand()->stripPointerCastsAndAliases());
  if (!Callee || !Callee->isDeclaration() || Callee->getFunctionType() != Call.getFunctionType())
    return std::nullopt;
  for (const TypedRow &Row : OtherFunctions)
    if (Row.Name == Callee->getName())
      return hasTypes(*Callee->getFunctionType(), Row.Types) && !Call.isNoBuiltin() &&
                     (!Row.Name.starts_with("mmap") || mapsPlainMemory(Call))
                 ? std::optional(Row.Family)
                 : std::nullopt;
  LibFunc Function;
  // By name and prototype: "allockind" is inferred later in the pipeline, and a hand-written ::operator new is
  // "nobuiltin", which only forbids eliding it.
  if (!TLI.getLibFunc(*Callee, Function) || !TLI.has(Function))
    return std::nullopt;
  for (const FamilyRow &Row : Families) {
    if (Row.Function != Function || Row.Name != Callee->getName())
      continue;
    if (!isNewFamily(Row.Family) && Call.isNoBuiltin())
      return std::nullopt;
    return Row.Family;
  }
  return std::nullopt;
}

bool definesAllocator(const Module &M, std::string *Name) {
  static constexpr StringRef Others[] = {"free", "memalign", "valloc", "pvalloc", "reallocarray"};
  for (const Function &F : M) {
    if (F.isDeclaration() || F.hasAvailableExternallyLinkage() || F.hasLocalLinkage())
      continue;
    StringRef N = F.getName();
    bool Ours = is_contained(Others, N) || N.starts_with("_ZdlPv") || N.starts_with("_ZdaPv") ||
                any_of(Families, [&](const FamilyRow &Row) { return Row.Name == N; });
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
         F.hasFnAttribute(Attribute::Naked) || F.hasFnAttribute("no-builtins");
}

bool isSanitized(const Module &M) {
  static constexpr Attribute::AttrKind Kinds[] = {
      Attribute::SanitizeAddress, Attribute::SanitizeThread, Attribute::SanitizeMemory,
      Attribute::SanitizeHWAddress, Attribute::SanitizeType};
  return any_of(M, [](const Function &F) {
    return any_of(Kinds, [&](Attribute::AttrKind K) { return F.hasFnAttribute(K); });
  });
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
  if (isSanitized(M))
    return PreservedAnalyses::all();
  auto &FAM = AM.getResult<FunctionAnalysisManagerModuleProxy>(M).getManager();
  std::string Source;
  bool Changed = false;
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
      if (!Call || givesNoMemory(*Call))
        continue;
      std::optional<AllocFamily> Family = allocationFamily(*Call, TLI);
      if (!Family && !mayBeContext(*Call, TLI))
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
