//===- MachineProfile.cpp - the TLB that sites are optimised for ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/options/MachineProfile.h"
#include "passes/ir/LlvmVersions.h"
#include "passes/options/InputFile.h"
#include "runtime/format/machine_json.h"
#include "smalloc/machine.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/TargetParser/Host.h"
#include <algorithm>
#include <cmath>

using namespace llvm;

namespace smalloc {
namespace {

MachineProfile fromPreset(const smalloc_machine &M) {
  MachineProfile P;
  P.Name = M.name;
  P.BasePageBytes = M.base_page_bytes;
  P.ReachPages = smalloc_machine_reach_pages(&M);
  P.PaperThresholdPages = smalloc_machine_paper_threshold_pages(&M);
  P.WalkNearCycles = M.walk_near_cycles;
  P.WalkFarCycles = M.walk_far_cycles;
  P.PrefetchMaxStrideBytes = M.prefetch_max_stride_bytes;
  const smalloc_tlb_level &Last = M.l2.entries_2m ? M.l2 : M.l1;
  P.SuperpageReach = std::max<uint64_t>(Last.entries_2m, 1);
  P.SharedReach = smalloc_machine_shares_l2(&M);
  return P;
}

/// Returns the preset of a processor by LLVM's name for it; "" if there is none.
const char *presetOfProcessor(StringRef Name) {
  return StringSwitch<const char *>(Name)
      .Case("znver1", "zen1")
      .Case("znver2", "zen2")
      .Case("znver3", "zen3")
      .Case("znver4", "zen4")
      .Case("znver5", "zen5")
      .Case("alderlake", "golden-cove")
      .Case("raptorlake", "golden-cove")
      .Case("sapphirerapids", "golden-cove")
      .Case("emeraldrapids", "golden-cove")
      .Case("meteorlake", "redwood-cove")
      .Case("graniterapids", "redwood-cove")
      .Case("graniterapids-d", "redwood-cove")
      .Case("lunarlake", "lion-cove")
      .Case("arrowlake", "lion-cove")
      .Case("arrowlake-s", "lion-cove")
      .Case("icelake-client", "ice-lake")
      .Case("icelake-server", "ice-lake")
      .Case("tigerlake", "ice-lake")
      .Case("skylake-avx512", "skylake-x")
      .Case("cascadelake", "skylake-x")
      .Case("cooperlake", "skylake-x")
      .Case("skylake", "skylake")
      .Case("gracemont", "gracemont")
      .Case("sierraforest", "gracemont")
      .Case("clearwaterforest", "skymont")
      .Case("core2", "core2")
      .Case("penryn", "core2")
      .Case("neoverse-n1", "neoverse-n1")
      .Case("cortex-a76", "neoverse-n1")
      .Case("neoverse-v1", "neoverse-v1")
      .Case("cortex-x1", "neoverse-v1")
      .Case("neoverse-n2", "neoverse-n2")
      .Case("neoverse-v2", "neoverse-v2")
      .Case("neoverse-v3", "neoverse-v3")
      .Case("neoverse-v3ae", "neoverse-v3")
      .Case("cortex-x925", "neoverse-v3")
      .Case("apple-m1", "apple-m1")
      .Case("apple-a14", "apple-m1")
      .Case("apple-m2", "apple-m2")
      .Case("apple-a15", "apple-m2")
      .Case("apple-m4", "apple-m4")
      .Case("oryon-1", "oryon")
      .Case("a64fx", "a64fx")
      .Case("pwr5x", "power5")
      .Case("970", "ppc970")
      .Case("pwr8", "power8")
      .Case("pwr9", "power9")
      .Case("pwr10", "power10")
      .Default("");
}

Error bad(StringRef Path, const Twine &Why) {
  return createStringError(inconvertibleErrorCode(),
                           "cannot use machine profile (" + Path + "): " + Why +
                               "\nhint: machine=native, a preset of 'smalloc machine list', or a "
                               "file that 'smalloc machine show FILE' can read");
}

bool holds(const format::TlbLevel &Level, uint64_t PageBytes) {
  return is_contained(Level.page_bytes, PageBytes);
}

/// Returns the number of superpages that the last TLB level with entries for them covers. A level
/// may have an array of its own for superpages beside one for all sizes; their entries add up.
/// \p Last becomes the last of these arrays.
uint64_t superpageReach(const format::MachineProfile &File, uint64_t PageBytes,
                        const format::TlbLevel *&Last) {
  uint64_t Reach = 0;
  for (const format::TlbLevel &Level : File.tlb) {
    if (!holds(Level, PageBytes) || *Level.entries.value < 1 || (Last && Level.level < Last->level))
      continue;
    Reach = static_cast<uint64_t>(*Level.entries.value) +
            (Last && Level.level == Last->level ? Reach : 0);
    Last = &Level;
  }
  return Reach;
}

void takeWalks(const format::MachineProfile &File, MachineProfile &P) {
  double Near = INFINITY, Far = 0;
  for (const format::WalkCost &Walk : File.walk_cost) {
    const double Cycles = Walk.cycles.value.value_or(0);
    if (Walk.page_bytes != P.BasePageBytes || Cycles <= 0)
      continue;
    Near = std::min(Near, Cycles);
    Far = std::max(Far, Cycles);
    if (Walk.pages.value_or(0) >= 1)
      P.WalkCurve.emplace_back(static_cast<double>(*Walk.pages), Cycles);
  }
  if (Far > 0) {
    P.WalkNearCycles = Near;
    P.WalkFarCycles = Far;
  }
  llvm::sort(P.WalkCurve);
  P.WalkCurve.erase(llvm::unique(P.WalkCurve, [](auto A, auto B) { return A.first == B.first; }),
                    P.WalkCurve.end());
}

/// Reads a profile from \p Text, the content of the file \p Path.
Expected<MachineProfile> fromText(StringRef Text, StringRef Path) {
  std::string Why;
  const auto File = format::read_machine(Text, Why);
  if (!File)
    return bad(Path, Why);
  MachineProfile P;
  P.FromFile = true;
  P.Text = Text.str();
  P.Name = File->name;
  P.BasePageBytes = File->base_page_bytes;
  P.ReachPages = File->reach();
  const format::TlbLevel &Best = *File->last_level(), *LastSuper = nullptr;
  if (const uint64_t Reach = superpageReach(*File, P.SuperpageBytes, LastSuper))
    P.SuperpageReach = Reach;
  P.SharedReach = &Best == LastSuper && Best.shared;
  const double Entries = *Best.entries.value, Ways = Best.ways.value.value_or(0);
  const auto Sets = static_cast<uint64_t>(Ways >= 1 ? Entries / Ways : 1);
  if (Ways >= 1 && Best.index == "modulo")
    P.Sets = Sets;
  P.PaperThresholdPages = Sets + 1;
  takeWalks(*File, P);
  P.PrefetchCrossesPage = File->prefetch_crosses_page.value_or(true);
  if (const auto Stride = File->prefetch_max_stride_bytes.value)
    P.PrefetchMaxStrideBytes = static_cast<uint64_t>(*Stride);
  return P;
}

Expected<MachineProfile> fromFile(StringRef Path) {
  std::string WhyNot;
  const auto Buffer = readInputFile(Path, WhyNot);
  if (!Buffer)
    return bad(Path, WhyNot);
  return fromText(Buffer->getBuffer(), Path);
}

} // namespace

double MachineProfile::walkCycles(double Pages) const {
  if (!WalkCurve.empty()) {
    const auto *Above =
        llvm::find_if(WalkCurve, [Pages](const auto &Point) { return Point.first >= Pages; });
    if (Above == WalkCurve.begin())
      return WalkCurve.front().second;
    if (Above == WalkCurve.end())
      return WalkCurve.back().second;
    const auto &[Low, LowCycles] = Above[-1];
    const auto &[High, HighCycles] = *Above;
    return LowCycles + (HighCycles - LowCycles) * std::log2(Pages / Low) / std::log2(High / Low);
  }
  const double Near = std::log2(65536.0), Far = std::log2(4194304.0);
  double At = (std::log2(std::max(Pages, 1.0)) - Near) / (Far - Near);
  return WalkNearCycles + (WalkFarCycles - WalkNearCycles) * std::clamp(At, 0.0, 1.0);
}

void MachineProfile::settleFor(const Module &M) {
  const Triple Target = targetTriple(M);
  if (!Native || Target.getArch() == Triple(sys::getProcessTriple()).getArch())
    return;
  StringRef Processor;
  for (const Function &F : M)
    if (!F.isDeclaration() && F.hasFnAttribute("target-cpu")) {
      Processor = F.getFnAttribute("target-cpu").getValueAsString();
      break;
    }
  const smalloc_machine *Preset = smalloc_machine_by_name(presetOfProcessor(Processor));
  *this = fromPreset(Preset ? *Preset : *smalloc_machine_by_name("generic"));
}

Expected<MachineProfile> loadMachineProfile(StringRef Spec) {
  if (Spec.empty() || Spec == "native") {
    MachineProfile Native = fromPreset(*smalloc_machine_native());
    Native.Native = true;
    return Native;
  }
  if (const smalloc_machine *M = smalloc_machine_by_name(Spec.str().c_str()))
    return fromPreset(*M);
  if (Spec.ltrim().starts_with('{')) // text that a unit recorded for the link
    return fromText(Spec, "recorded");
  if (Spec.contains('/') || Spec.ends_with(".json") || sys::fs::exists(Spec))
    return fromFile(Spec);
  SmallVector<StringRef, 48> Names; // several processors share one preset
  for (const smalloc_machine &M : smalloc_machine_presets)
    if (!is_contained(Names, StringRef(M.name)))
      Names.push_back(M.name);
  return createStringError(inconvertibleErrorCode(), "unknown machine '" + Spec +
                                                         "': neither a file nor one of native, " +
                                                         join(Names, ", "));
}

} // namespace smalloc
