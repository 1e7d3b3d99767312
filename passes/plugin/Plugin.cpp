//===- Plugin.cpp - one file for clang, flang, opt and lld ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Connects the shared object with its host. As a clang plugin (-fplugin), its action registers the
// passes through the code-generation options and switches on locations-only debug info. As a pass
// plugin (-fpass-plugin, opt, lld), LLVM calls llvmGetPassPluginInfo(). The build makes every clang
// symbol weak, so that the file loads in hosts without clang. It has no DT_NEEDED on clang either,
// which would define opt's options twice.
//===----------------------------------------------------------------------===//
#include "passes/ir/LlvmVersions.h"
#include "passes/plugin/FrontendLocations.h"
#include "passes/plugin/RegisterPasses.h"
#include "passes/sites/AllocationSites.h"
#include "clang/AST/ASTConsumer.h"
#include "clang/Basic/CodeGenOptions.h"
#include "clang/Basic/Diagnostic.h"
#include "clang/Basic/DiagnosticFrontend.h"
#include "clang/Basic/TargetInfo.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Frontend/FrontendPluginRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace {

/// Options of the clang plugin arguments, for the pass-plugin entry in the same process.
smalloc::Options Current;

/// True if the passes may add their code as assembly instead of IR. That excludes LTO and bitcode,
/// unusual code models, sections or syntax, and flags that protect calls in their own way.
bool goesStraightToObject(clang::CompilerInstance &CI) {
  const clang::CodeGenOptions &CodeGen = CI.getCodeGenOpts();
  const Triple &Target = CI.getTarget().getTriple();
  const clang::frontend::ActionKind Action = CI.getFrontendOpts().ProgramAction;
  auto protects = [](StringRef Feature) {
    return Feature.contains("retpoline") || Feature.contains("lvi-") ||
           Feature.contains("harden-sls");
  };
  return (Action == clang::frontend::EmitObj || Action == clang::frontend::EmitAssembly) &&
         Target.getArch() == Triple::x86_64 && Target.isOSBinFormatELF() && !Target.isX32() &&
         !CodeGen.PrepareForLTO && !CodeGen.PrepareForThinLTO && !CodeGen.FatLTO &&
         !CodeGen.EmulatedTLS && (CodeGen.CodeModel == "default" || CodeGen.CodeModel == "small") &&
         CodeGen.UseInitArray && CodeGen.getInlineAsmDialect() == clang::CodeGenOptions::IAD_ATT &&
         none_of(CI.getTargetOpts().FeaturesAsWritten, protects);
}

/// Returns \p File as mapped by -fdebug-prefix-map, or else by -fmacro-prefix-map; empty if neither
/// does.
std::string mappedName(clang::CompilerInstance &CI, StringRef File) {
  SmallString<256> Path(File);
  for (const auto &[From, To] : reverse(CI.getCodeGenOpts().DebugPrefixMap))
    if (sys::path::replace_path_prefix(Path, From, To))
      return Path.str().str();
  for (const auto &[From, To] : CI.getLangOpts().MacroPrefixMap)
    if (sys::path::replace_path_prefix(Path, From, To))
      return Path.str().str();
  return "";
}

class SmallocAction : public clang::PluginASTAction {
  smalloc::Options O;

  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance &CI,
                                                        StringRef InFile) override {
    clang::CodeGenOptions &CodeGen = CI.getCodeGenOpts();
    // The plugin does not change the code of a device: the passes skip it, however they are
    // registered.
    if (!smalloc::isHostTarget(CI.getTarget().getTriple()) ||
        CI.getLangOpts().OpenMPIsTargetDevice || CI.getLangOpts().CUDAIsDevice ||
        CI.getLangOpts().SYCLIsDevice)
      return std::make_unique<clang::ASTConsumer>();
    const clang::SanitizerSet &Sanitizers = CI.getLangOpts().Sanitize;
    const bool LeftAlone = Sanitizers.hasOneOf(
        clang::SanitizerKind::Address | clang::SanitizerKind::KernelAddress |
        clang::SanitizerKind::HWAddress | clang::SanitizerKind::KernelHWAddress |
        clang::SanitizerKind::Memory | clang::SanitizerKind::KernelMemory |
        clang::SanitizerKind::Thread | clang::parseSanitizerValue("type", /*AllowGroups=*/false) |
        clang::parseSanitizerValue("alloc-token", /*AllowGroups=*/false));
    // gcov's counters are placed by locations. Clang makes these without setting the kind of debug
    // information.
    const bool ForCoverage =
        !CodeGen.CoverageNotesFile.empty() || !CodeGen.CoverageDataFile.empty();
    // Sites are reported with lines also without -g: locations in the IR, nothing in the object.
    if (!LeftAlone && !ForCoverage && CodeGen.getDebugInfo() == codegenoptions::NoDebugInfo &&
        CodeGen.OptimizationLevel > 0) {
      CodeGen.setDebugInfo(codegenoptions::LocTrackingOnly);
      O.OwnLocations = true;
      // The user did not ask for debug info, so only -fmacro-prefix-map may name the paths to hide.
      // Apply it here too.
      const auto &Hidden = CI.getLangOpts().MacroPrefixMap;
      CodeGen.DebugPrefixMap.insert(CodeGen.DebugPrefixMap.begin(), Hidden.rbegin(), Hidden.rend());
    }
    O.UnitName = mappedName(CI, InFile);
    // Site tables and traces need the location of each access. Importers of a module may need all
    // locations, too. At a link, another unit's copy of a function, with locations, may replace
    // this one's.
    const bool Linked = CodeGen.PrepareForLTO || CodeGen.PrepareForThinLTO || CodeGen.FatLTO;
    const bool WithoutAll = O.OwnLocations && !Linked && O.SitesDir.empty() &&
                            O.GenerateDir.empty() && O.CoverageDir.empty();
    // Reports name lines. Columns would take twice the memory, which LLVM never frees.
    if (WithoutAll)
      CodeGen.DebugColumnInfo = false;
    O.StraightToObject = goesStraightToObject(CI);
    O.Hosted = !CI.getLangOpts().Freestanding;
    Current = O;
    // With -fpass-plugin, clang itself registers the same file: once is enough.
    if (!smalloc::loadsPassPlugin(CI, "smalloc"))
      CodeGen.PassBuilderCallbacks.push_back(
          [O = O](PassBuilder &PB) { smalloc::registerPasses(PB, O); });
    const clang::frontend::ActionKind Action = CI.getFrontendOpts().ProgramAction;
    const clang::LangOptions &Language = CI.getLangOpts();
    const bool Generates = Action == clang::frontend::EmitObj ||
                           Action == clang::frontend::EmitAssembly ||
                           Action == clang::frontend::EmitLLVM;
    if (WithoutAll && Language.CPlusPlus && CI.getFrontendOpts().ModuleOutputPath.empty() &&
        !Language.isCompilingModule() && Generates)
      return smalloc::leaveOutLocations();
    if (WithoutAll && Language.C99 && !Language.CPlusPlus && !Language.ObjC && !Language.OpenMP &&
        Generates && !CodeGen.EmitCodeView)
      return smalloc::locateStatements(CodeGen);
    return std::make_unique<clang::ASTConsumer>();
  }

  bool ParseArgs(const clang::CompilerInstance &CI, const std::vector<std::string> &Args) override {
    clang::DiagnosticsEngine &Diags = CI.getDiagnostics();
    for (StringRef Arg : Args) {
      auto [Key, Value] = Arg.split('=');
      if (Error E = smalloc::setOption(O, Key, Value)) {
        Diags.Report(Diags.getCustomDiagID(clang::DiagnosticsEngine::Error, "smalloc: %0"))
            << toString(std::move(E));
        return false;
      }
    }
    for (const std::string &Warning : O.Warnings)
      Diags.Report(Diags.getCustomDiagID(clang::DiagnosticsEngine::Warning, "smalloc: %0"))
          << Warning;
    O.Warnings.clear(); // reported
    return true;
  }

  ActionType getActionType() override { return AddBeforeMainAction; }
};

} // namespace

extern "C" void _ZN5clang15PluginASTAction6anchorEv() __attribute__((weak));

static bool registerFrontend() {
  if (!_ZN5clang15PluginASTAction6anchorEv)
    return false; // opt, lld: no clang in this process
  static clang::FrontendPluginRegistry::Add<SmallocAction> Registered("smalloc",
                                                                      "superpage-aware allocation");
  return true;
}
[[maybe_unused]] static const bool HasFrontend = registerFrontend();

extern "C" LLVM_ATTRIBUTE_VISIBILITY_DEFAULT PassPluginLibraryInfo llvmGetPassPluginInfo() {
  PassPluginLibraryInfo Info{}; // its members depend on the LLVM version
  Info.APIVersion = LLVM_PLUGIN_API_VERSION;
  Info.PluginName = "smalloc";
  Info.PluginVersion = SMALLOC_VERSION;
  Info.RegisterPassBuilderCallbacks = [](PassBuilder &PB) { smalloc::registerPasses(PB, Current); };
  return Info;
}
