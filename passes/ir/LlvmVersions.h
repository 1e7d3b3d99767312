//===- LlvmVersions.h - differences between LLVM 19, 21, 22, 23 -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hides what LLVM or clang names or types differently from version to version behind functions and
// types, so that the passes are written once. No other file of the plugin tests the version. An
// older IR sometimes says less than a newer one. The functions then return the conservative answer,
// and the passes transform less.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_LLVMVERSIONS_H
#define SMALLOC_PASSES_LLVMVERSIONS_H

#include "llvm/ADT/MapVector.h"
#include "llvm/Analysis/Loads.h"
#include "llvm/Analysis/SimplifyQuery.h"
#include "llvm/IR/BasicBlock.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"
#if LLVM_VERSION_MAJOR >= 22
#include "llvm/Plugins/PassPlugin.h"
#else
#include "llvm/Passes/PassPlugin.h"
#endif
#if LLVM_VERSION_MAJOR >= 21
#include "llvm/Analysis/LastRunTrackingAnalysis.h"
#include "llvm/Support/ModRef.h"
#endif
#include <functional>
#include <memory>
#include <string>

namespace smalloc {

// ---- IR ----

/// Returns the target of \p M. LLVM 19 keeps it as a string.
inline llvm::Triple targetTriple(const llvm::Module &M) {
  return llvm::Triple(M.getTargetTriple());
}

/// An enum attribute of functions, found by its name. If this version of LLVM does not know the
/// name, no function has the attribute.
class NamedAttribute {
  llvm::Attribute::AttrKind Kind;

public:
  explicit NamedAttribute(llvm::StringRef Name)
      : Kind(llvm::Attribute::getAttrKindFromName(Name)) {}
  bool isOn(const llvm::Function &F) const {
    return Kind != llvm::Attribute::None && F.hasFnAttribute(Kind);
  }
};

#if LLVM_VERSION_MAJOR >= 21
/// True if \p Call may keep a copy of its argument \p I anywhere but in its result.
inline bool mayKeep(const llvm::CallBase &Call, unsigned I) {
  return capturesAnything(Call.getCaptureInfo(I).getOtherComponents());
}
/// True if the result of \p Call may contain its argument \p I.
inline bool mayReturn(const llvm::CallBase &Call, unsigned I) {
  return capturesAnything(Call.getCaptureInfo(I).getRetComponents());
}
/// Marks argument \p I of \p Call as not captured: \p Call keeps no copy of it.
inline void setNotCaptured(llvm::CallBase &Call, unsigned I) {
  Call.addParamAttr(
      I, llvm::Attribute::getWithCaptureInfo(Call.getContext(), llvm::CaptureInfo::none()));
}
#else
inline bool mayKeep(const llvm::CallBase &Call, unsigned I) { return !Call.doesNotCapture(I); }
inline bool mayReturn(const llvm::CallBase &Call, unsigned I) { return !Call.doesNotCapture(I); }
inline void setNotCaptured(llvm::CallBase &Call, unsigned I) {
  Call.addParamAttr(I, llvm::Attribute::NoCapture);
}
#endif

#if LLVM_VERSION_MAJOR >= 23
using ConditionalBranch = llvm::CondBrInst;
inline bool isBranch(const llvm::Instruction &I) {
  return llvm::isa<llvm::UncondBrInst, llvm::CondBrInst>(I);
}
#else
/// A conditional branch. In LLVM 22 and older the type includes unconditional branches.
using ConditionalBranch = llvm::BranchInst;
/// True if \p I is a branch, conditional or not. A switch is not a branch.
inline bool isBranch(const llvm::Instruction &I) { return llvm::isa<llvm::BranchInst>(I); }
#endif
/// Returns the condition of \p Terminator; null unless it is a conditional branch.
inline llvm::Value *conditionOf(const llvm::Instruction *Terminator) {
  auto *Branch = llvm::dyn_cast_or_null<ConditionalBranch>(Terminator);
  return Branch && Branch->getNumSuccessors() == 2 ? Branch->getCondition() : nullptr;
}

/// True if the memory that \p Load reads can be read at \p At without a fault.
inline bool isReadableAt(const llvm::LoadInst &Load, const llvm::Instruction *At,
                         const llvm::DominatorTree *DT) {
  const llvm::DataLayout &Layout = Load.getDataLayout();
#if LLVM_VERSION_MAJOR >= 23
  return isDereferenceableAndAlignedPointer(Load.getPointerOperand(), Load.getType(),
                                            Load.getAlign(),
                                            llvm::SimplifyQuery(Layout, DT, nullptr, At));
#else
  return isDereferenceableAndAlignedPointer(Load.getPointerOperand(), Load.getType(),
                                            Load.getAlign(), Layout, At, nullptr, DT);
#endif
}

/// The variable indices of a GEP and their scales, as GEPOperator::collectOffset() fills them.
#if LLVM_VERSION_MAJOR >= 21
using GepIndices = llvm::SmallMapVector<llvm::Value *, llvm::APInt, 4>;
#else
using GepIndices = llvm::MapVector<llvm::Value *, llvm::APInt>;
#endif

/// A SCEVExpander that gives its values the name prefix "smalloc".
class ScevExpander : public llvm::SCEVExpander {
public:
#if LLVM_VERSION_MAJOR >= 22
  explicit ScevExpander(llvm::ScalarEvolution &SE) : SCEVExpander(SE, "smalloc") {}
#else
  explicit ScevExpander(llvm::ScalarEvolution &SE)
      : SCEVExpander(SE, SE.getDataLayout(), "smalloc") {}
#endif
};

// ---- Diagnostics ----

/// A warning of the plugin. LLVM 19 has no DiagnosticInfoGeneric.
class PluginWarning : public llvm::DiagnosticInfo {
  std::string Text;

  static int kind() {
    static const int Kind = llvm::getNextAvailablePluginDiagnosticKind();
    return Kind;
  }

public:
  explicit PluginWarning(std::string Text)
      : DiagnosticInfo(kind(), llvm::DS_Warning), Text(std::move(Text)) {}
  void print(llvm::DiagnosticPrinter &DP) const override { DP << Text; }
};

// ---- Pipelines ----

/// Keeps the record of which passes found nothing to do. LLVM 19 has none.
inline void preserveLastRuns([[maybe_unused]] llvm::PreservedAnalyses &Preserved) {
#if LLVM_VERSION_MAJOR >= 21
  Preserved.preserve<llvm::LastRunTrackingAnalysis>();
#endif
}

/// Adds passes to a pipeline for a level and a phase of link-time optimisation.
using AddPasses = std::function<void(llvm::ModulePassManager &, llvm::OptimizationLevel,
                                     llvm::ThinOrFullLTOPhase)>;

/// A pass builder's extension points for passes that depend on the LTO phase.
class ExtensionPoints {
  llvm::PassBuilder &PB;

#if LLVM_VERSION_MAJOR >= 21
  static AddPasses atPhase(AddPasses Add) { return Add; }

public:
  explicit ExtensionPoints(llvm::PassBuilder &PB) : PB(PB) {}
#else
  // LLVM 19 does not pass the phase to the callbacks, so it is found when the module is there. A
  // pipeline with a start compiles a unit. The unit is for an LTO link if clang or flang has
  // flagged the module so. A pipeline without a start is that of the ThinLTO back end.
  using SharedPhase = std::shared_ptr<llvm::ThinOrFullLTOPhase>;
  SharedPhase Phase =
      std::make_shared<llvm::ThinOrFullLTOPhase>(llvm::ThinOrFullLTOPhase::ThinLTOPostLink);

  struct StartPass : llvm::PassInfoMixin<StartPass> {
    SharedPhase Phase;
    explicit StartPass(SharedPhase Phase) : Phase(std::move(Phase)) {}
    llvm::PreservedAnalyses run(llvm::Module &M, llvm::ModuleAnalysisManager &) {
      const bool ForLink = M.getModuleFlag("ThinLTO") || M.getModuleFlag("EnableSplitLTOUnit");
      *Phase = ForLink ? llvm::ThinOrFullLTOPhase::FullLTOPreLink : llvm::ThinOrFullLTOPhase::None;
      return llvm::PreservedAnalyses::all();
    }
  };
  struct AddedPass : llvm::PassInfoMixin<AddedPass> {
    SharedPhase Phase;
    llvm::OptimizationLevel Level;
    AddPasses Add;
    AddedPass(SharedPhase Phase, llvm::OptimizationLevel Level, AddPasses Add)
        : Phase(std::move(Phase)), Level(Level), Add(std::move(Add)) {}
    llvm::PreservedAnalyses run(llvm::Module &M, llvm::ModuleAnalysisManager &AM) {
      llvm::ModulePassManager MPM;
      Add(MPM, Level, *Phase);
      return MPM.run(M, AM);
    }
  };
  auto atPhase(AddPasses Add) const {
    return [Phase = Phase, Add = std::move(Add)](llvm::ModulePassManager &MPM,
                                                 llvm::OptimizationLevel Level) {
      MPM.addPass(AddedPass(Phase, Level, Add));
    };
  }

public:
  explicit ExtensionPoints(llvm::PassBuilder &PB) : PB(PB) {
    PB.registerPipelineStartEPCallback(
        [Phase = Phase](llvm::ModulePassManager &MPM, llvm::OptimizationLevel) {
          MPM.addPass(StartPass(Phase));
        });
  }
#endif
  void earlySimplification(AddPasses Add) {
    PB.registerPipelineEarlySimplificationEPCallback(atPhase(std::move(Add)));
  }
  void optimizerEarly(AddPasses Add) {
    PB.registerOptimizerEarlyEPCallback(atPhase(std::move(Add)));
  }
  void optimizerLast(AddPasses Add) { PB.registerOptimizerLastEPCallback(atPhase(std::move(Add))); }
};

// ---- Plugins ----

/// True if clang loads the pass plugin \p Name beside this plugin. Before LLVM 22 clang opens the
/// files of -fpass-plugin later and knows only their names, so this function opens them.
template <typename CompilerInstance>
bool loadsPassPlugin(CompilerInstance &CI, llvm::StringRef Name) {
  if constexpr (requires { CI.getPassPlugins(); })
    return llvm::any_of(CI.getPassPlugins(),
                        [&](const auto &P) { return P->getPluginName() == Name; });
  else
    return llvm::any_of(CI.getCodeGenOpts().PassPlugins, [&](const std::string &File) {
      llvm::Expected<llvm::PassPlugin> P = llvm::PassPlugin::Load(File);
      if (!P)
        llvm::consumeError(P.takeError()); // clang reports the reason later
      return P && P->getPluginName() == Name;
    });
}

} // namespace smalloc
#endif
