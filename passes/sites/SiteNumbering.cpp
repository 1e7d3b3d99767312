//===- SiteNumbering.cpp - the ids of sites ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/sites/SiteNumbering.h"
#include "passes/ir/RecordedPointees.h"
#include "passes/ir/UnitName.h"
#include "passes/sites/AllocationSites.h"
#include "passes/sites/ClearedSites.h"
#include "passes/sites/Prototypes.h"
#include "passes/sites/SiteVariable.h"
#include "passes/sites/WrapperCalls.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Analysis/OptimizationRemarkEmitter.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/xxhash.h"
#include <utility>

using namespace llvm;

namespace smalloc {
namespace {

/// Emits a remark for a call that is left alone because of its prototype. Emits none for mmap, most
/// of whose calls map files or devices and allocate nothing.
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

/// Returns the path of the unit's source relative to \p Root, with '/' separators. The path is the
/// same wherever the tree is checked out.
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

/// True if \p Call may turn out to be a context. It calls a function that looks like an allocator,
/// or a function of this unit that calls one. More is not known before the first optimisation.
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

/// Returns the function of this unit that \p Call calls, if it may hand out memory through an
/// argument only; null otherwise.
const Function *handsOutAtMost(const CallBase &Call) {
  const Function *Callee = Call.getCalledFunction();
  return Callee && !Callee->isDeclaration() && !Callee->getReturnType()->isPtrOrPtrVectorTy() &&
                 any_of(Callee->args(),
                        [](const Argument &A) { return A.getType()->isPointerTy(); })
             ? Callee
             : nullptr;
}

/// True if \p Call may turn out to hand out memory through an argument. It calls a function of this
/// unit that contains anything like an allocation, or reaches one through calls of this kind.
/// \p Known: results for functions met before. Does not recurse, since chains of calls may be long.
bool mayHandOut(const CallBase &Call, const TargetLibraryInfo &TLI,
                DenseMap<const Function *, bool> &Known) {
  const Function *Asked = handsOutAtMost(Call);
  if (!Asked)
    return false;
  if (auto [It, New] = Known.try_emplace(Asked, false); !New)
    return It->second;
  SmallVector<const Function *, 8> Reached{Asked}, May;
  DenseMap<const Function *, SmallVector<const Function *, 2>> Callers; // of those in Reached
  for (size_t K = 0; K < Reached.size(); ++K)
    for (const Instruction &I : instructions(*Reached[K])) {
      auto *Inner = dyn_cast<CallBase>(&I);
      if (!Inner || isa<IntrinsicInst>(Inner))
        continue;
      const bool GivesNone = givesNoMemory(*Inner);
      const Function *Callee = GivesNone ? handsOutAtMost(*Inner) : nullptr;
      const bool New = Callee && Known.try_emplace(Callee, false).second;
      if (GivesNone ? Callee && Known.lookup(Callee)
                    : allocationFamily(*Inner) || mayBeWrapperCall(*Inner, TLI)) {
        May.push_back(Reached[K]);
        break;
      }
      if (New)
        Reached.push_back(Callee);
      if (Callee)
        Callers[Callee].push_back(Reached[K]);
    }
  while (!May.empty()) {
    const Function *F = May.pop_back_val();
    if (!std::exchange(Known[F], true))
      append_range(May, Callers.lookup(F));
  }
  return Known.lookup(Asked);
}

/// A call that may be a site.
struct Candidate {
  std::optional<AllocFamily> Family; ///< none: the call may turn out to be a context
  int Out; ///< argument through which another unit's function may hand out memory; -1: none
};

/// Numbers the sites of one unit.
class Numbering {
public:
  using When = AllocationSitesPass::When;
  Numbering(Module &M, StringRef Root, When Phase) : M(M), Root(Root), Phase(Phase) {
    if (Phase == When::Later)
      Clearable.emplace(M);
  }
  /// Numbers the calls of \p F; true if it changed one.
  bool number(Function &F, const TargetLibraryInfo &TLI);

private:
  std::optional<Candidate> candidate(const CallBase &Call, const TargetLibraryInfo &TLI);
  std::string keyOf(const Function &F, StringRef Callee, unsigned Ordinal);
  void mark(CallBase &Call, const Candidate &Is, StringRef Key);

  Module &M;
  StringRef Root;
  When Phase;
  std::string Source; ///< relative path; empty: not needed yet
  DenseMap<const Function *, bool> HandOut;
  std::optional<ClearableSites> Clearable;
};

std::optional<Candidate> Numbering::candidate(const CallBase &Call, const TargetLibraryInfo &TLI) {
  const bool GivesNone = givesNoMemory(Call);
  const int Out = GivesNone ? mayHandOutThrough(Call, TLI) : -1;
  if (GivesNone && Out < 0 && !mayHandOut(Call, TLI, HandOut))
    return std::nullopt;
  std::optional<AllocFamily> Family = allocationFamily(Call);
  if (!GivesNone && !Family && (calledRow(Call) || !mayBeContext(Call, TLI)))
    return std::nullopt;
  return Candidate{Family, Out};
}

/// Returns the text whose hash is the id of call number \p Ordinal of \p Callee in \p F.
std::string Numbering::keyOf(const Function &F, StringRef Callee, unsigned Ordinal) {
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
    Key += " late"; // avoids the id of an early site with the same ordinal
  return Key;
}

void Numbering::mark(CallBase &Call, const Candidate &Is, StringRef Key) {
  AttrBuilder Marks(M.getContext()); // all together make one new list of attributes
  Marks.addAttribute(Is.Family ? SiteIdAttr : ContextIdAttr,
                     utohexstr(xxh3_64bits(Key), /*LowerCase=*/true, /*Width=*/16));
  StringRef WrittenIn = Call.getFunction()->getName();
  if (const DILocation *Location = Call.getDebugLoc(); Location && Phase == When::Later)
    if (const DISubprogram *In = Location->getScope()->getSubprogram())
      WrittenIn = In->getLinkageName().empty() ? In->getName() : In->getLinkageName();
  Marks.addAttribute(SiteFunctionAttr, WrittenIn);
  if (Phase == When::PipelineStart) {
    const bool Stores = Is.Out >= 0 || (Is.Family && storesResult(*Is.Family));
    const Value *Place =
        Stores ? Call.getArgOperand(static_cast<unsigned>(std::max(Is.Out, 0))) : nullptr;
    if (const std::string Name = variableOf(Call, Place); !Name.empty())
      Marks.addAttribute(SiteVariableAttr, Name);
    if (Is.Out >= 0)
      Marks.addAttribute(OutAttr, utostr(static_cast<unsigned>(Is.Out)));
  }
  Call.setAttributes(Call.getAttributes().addFnAttributes(M.getContext(), Marks));
}

bool Numbering::number(Function &F, const TargetLibraryInfo &TLI) {
  bool Changed = false;
  StringMap<unsigned> Ordinals;
  for (Instruction &I : instructions(F)) {
    auto *Call = dyn_cast<CallBase>(&I);
    const std::optional<Candidate> Is = Call ? candidate(*Call, TLI) : std::nullopt;
    if (!Is)
      continue;
    const StringRef Callee = Call->getCalledOperand()->stripPointerCastsAndAliases()->getName();
    const unsigned Ordinal = Ordinals[Callee]++;
    if (Call->hasFnAttr(Is->Family ? SiteIdAttr : ContextIdAttr))
      continue;
    if (!Clearable || Is->Family != AllocFamily::Calloc || !Clearable->takeOver(*Call))
      mark(*Call, *Is, keyOf(F, Callee, Ordinal));
    Changed = true;
  }
  return Changed;
}

} // namespace

PreservedAnalyses AllocationSitesPass::run(Module &M, ModuleAnalysisManager &AM) {
  if (!isServed(M) || hasAllocTokens(M))
    return PreservedAnalyses::all();
  auto &FAM = AM.getResult<FunctionAnalysisManagerModuleProxy>(M).getManager();
  bool Changed = false;
  if (Phase == When::PipelineStart) {
    recordPointees(M);
    if (Hosted && any_of(M, [](const Function &F) { return F.hasFnAttribute("no-builtins"); }))
      recordHosted(M);
  }
  PreservedAnalyses Replaced; // what a new call leaves valid
  Replaced.preserveSet<CFGAnalyses>();
  forForeignPrototypes(M, leavesAlone, [&](CallBase &Call, const FamilyRow &Row, Fit How) {
    if (How == Fit::Convertible) {
      FAM.invalidate(*Call.getFunction(), Replaced);
      callByPrototype(Call, Row.Types);
      Changed = true;
    } else if (Phase == When::Later) {
      emitPrototypeRemark(Call, Row, FAM);
    }
  });
  Numbering Sites(M, Root, Phase);
  for (Function &F : M)
    if (!leavesAlone(F))
      Changed |= Sites.number(F, FAM.getResult<TargetLibraryAnalysis>(F));
  if (!Changed)
    return PreservedAnalyses::all();
  if (Phase == When::PipelineStart)
    keepClearableSites(M);
  return Replaced;
}

} // namespace smalloc
