//===- MachineProfile.cpp - whose TLB the compiler decides for --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "MachineProfile.h"
#include "smalloc/machine.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
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
  // The same number of entries for both sizes is one array for both.
  P.SharedReach = &Last == &M.l2 && M.l2.entries_4k == M.l2.entries_2m;
  return P;
}

/// The preset of a processor that LLVM has another name for; "" when there is none.
const char *presetOfProcessor(StringRef Name) {
  return StringSwitch<const char *>(Name)
      .Case("znver1", "zen1")
      .Case("znver2", "zen2")
      .Case("znver3", "zen3")
      .Case("znver4", "zen4")
      .Case("znver5", "zen5")
      .Cases({"alderlake", "raptorlake", "sapphirerapids", "emeraldrapids"}, "golden-cove")
      .Cases({"meteorlake", "graniterapids", "graniterapids-d"}, "redwood-cove")
      .Cases({"lunarlake", "arrowlake", "arrowlake-s"}, "lion-cove")
      .Cases({"icelake-client", "icelake-server", "tigerlake"}, "ice-lake")
      .Cases({"skylake-avx512", "cascadelake", "cooperlake"}, "skylake-x")
      .Case("skylake", "skylake")
      .Cases({"gracemont", "sierraforest"}, "gracemont")
      .Case("clearwaterforest", "skymont")
      .Cases({"core2", "penryn"}, "core2")
      .Cases({"neoverse-n1", "cortex-a76"}, "neoverse-n1")
      .Cases({"neoverse-v1", "cortex-x1"}, "neoverse-v1")
      .Case("neoverse-n2", "neoverse-n2")
      .Case("neoverse-v2", "neoverse-v2")
      .Cases({"neoverse-v3", "neoverse-v3ae", "cortex-x925"}, "neoverse-v3")
      .Cases({"apple-m1", "apple-a14"}, "apple-m1")
      .Cases({"apple-m2", "apple-a15"}, "apple-m2")
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

/// A number of the format: plain, or {value, low, high, source}; null and source "unknown" are absent.
std::optional<double> number(const json::Value *V) {
  if (!V)
    return std::nullopt;
  if (auto N = V->getAsNumber())
    return N;
  if (const json::Object *O = V->getAsObject()) {
    if (O->getString("source") == StringRef("unknown"))
      return std::nullopt;
    return O->getNumber("value");
  }
  return std::nullopt;
}

/// LLVM's parser calls itself for each bracket in a bracket.
bool isShallow(StringRef Text) {
  constexpr unsigned MostDepth = 256;
  unsigned Depth = 0;
  for (char C : Text) {
    if (C == '[' || C == '{')
      ++Depth;
    else if ((C == ']' || C == '}') && Depth)
      --Depth;
    if (Depth > MostDepth)
      return false;
  }
  return true;
}

Expected<MachineProfile> fromFile(StringRef Path) {
  auto Buffer = MemoryBuffer::getFile(Path, /*IsText=*/true);
  if (!Buffer)
    return bad(Path, Buffer.getError().message());
  if (!isShallow((*Buffer)->getBuffer()))
    return bad(Path, "not a profile: brackets in brackets without end");
  auto Json = json::parse((*Buffer)->getBuffer());
  if (!Json)
    return bad(Path, "not JSON: " + toString(Json.takeError()));
  const json::Object *Top = Json->getAsObject();
  if (!Top)
    return bad(Path, "the top level is not an object");
  auto Schema = Top->getString("schema");
  if (!Schema)
    return bad(Path, "key 'schema' is missing");
  if (*Schema != "smalloc.machine/1")
    return bad(Path, "schema is '" + *Schema + "', expected 'smalloc.machine/1'");
  MachineProfile P;
  P.FromFile = true;
  auto Name = Top->getString("name");
  if (!Name)
    return bad(Path, "key 'name' is missing");
  P.Name = Name->str();
  if (auto Page = number(Top->get("base_page_bytes"))) {
    if (*Page < 4096 || *Page > (1 << 20) || !isPowerOf2_64(static_cast<uint64_t>(*Page)))
      return bad(Path, "'base_page_bytes' is not a page size");
    P.BasePageBytes = static_cast<uint64_t>(*Page);
  }
  const json::Array *Levels = Top->getArray("tlb");
  if (!Levels)
    return bad(Path, "key 'tlb' is missing");
  double BestLevel = -1, Entries = 0, Ways = 0, SuperLevel = -1;
  const json::Object *Best = nullptr, *BestSuper = nullptr;
  for (size_t I = 0; I < Levels->size(); ++I) {
    const std::string Where = "tlb[" + utostr(I) + "]";
    const json::Object *L = (*Levels)[I].getAsObject();
    if (!L)
      return bad(Path, "'" + Where + "' is not an object");
    const json::Array *Sizes = L->getArray("page_bytes");
    if (!Sizes)
      return bad(Path, "key '" + Where + ".page_bytes' is missing");
    auto Holds = [&](uint64_t Bytes) {
      return any_of(*Sizes, [&](const json::Value &V) { return number(&V) == double(Bytes); });
    };
    const double Nearness = number(L->get("level")).value_or(static_cast<double>(I + 1));
    if (auto E = number(L->get("entries"));
        E && *E >= 1 && *E <= 1e9 && Holds(P.SuperpageBytes) && Nearness >= SuperLevel) {
      // A level may have an array of its own for superpages, beside one for all sizes: they add up.
      P.SuperpageReach =
          static_cast<uint64_t>(*E) + (Nearness == SuperLevel ? P.SuperpageReach : 0);
      SuperLevel = Nearness;
      BestSuper = L;
    }
    if (!Holds(P.BasePageBytes))
      continue;
    auto E = number(L->get("entries"));
    if (!E || *E < 1 || *E > 1e9)
      return bad(Path, "key '" + Where + ".entries' is missing or not a positive number");
    if (Nearness > BestLevel) {
      BestLevel = Nearness;
      Best = L;
      Entries = *E;
      Ways = number(L->get("ways")).value_or(0);
    }
  }
  if (BestLevel < 0)
    return bad(Path, "no level of 'tlb' holds base pages");
  if (Ways < 0 || Ways > Entries)
    return bad(Path, "'ways' is not between 0 and 'entries'");
  P.ReachPages = static_cast<uint64_t>(Entries);
  P.SharedReach = Best == BestSuper && Best->getBoolean("shared").value_or(false);
  if (Ways >= 1 && Best->getString("index") == StringRef("modulo"))
    P.Sets = static_cast<uint64_t>(Entries / Ways);
  P.PaperThresholdPages = static_cast<uint64_t>(Ways >= 1 ? std::floor(Entries / Ways) : 1) + 1;
  if (auto Reach = number(Top->get("reach_pages")); Reach && *Reach >= 1)
    P.ReachPages = static_cast<uint64_t>(*Reach);
  if (const json::Array *Walks = Top->getArray("walk_cost")) {
    double Near = INFINITY, Far = 0;
    for (const json::Value &V : *Walks)
      if (const json::Object *W = V.getAsObject())
        if (number(W->get("page_bytes")) == double(P.BasePageBytes))
          if (auto Cycles = number(W->get("cycles")); Cycles && *Cycles > 0) {
            Near = std::min(Near, *Cycles);
            Far = std::max(Far, *Cycles);
            if (auto Pages = number(W->get("pages")); Pages && *Pages >= 1)
              P.WalkCurve.emplace_back(*Pages, *Cycles);
          }
    if (Far > 0) {
      P.WalkNearCycles = Near;
      P.WalkFarCycles = Far;
    }
    llvm::sort(P.WalkCurve);
    P.WalkCurve.erase(llvm::unique(P.WalkCurve, [](auto A, auto B) { return A.first == B.first; }),
                      P.WalkCurve.end());
  }
  if (const json::Object *Prefetch = Top->getObject("prefetch")) {
    P.PrefetchCrossesPage = Prefetch->getBoolean("crosses_page").value_or(true);
    if (auto Stride = number(Prefetch->get("max_stride_bytes")); Stride && *Stride >= 0)
      P.PrefetchMaxStrideBytes = static_cast<uint64_t>(*Stride);
  }
  return P;
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
  const Triple &Target = M.getTargetTriple();
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
  if (Spec.contains('/') || Spec.ends_with(".json") || sys::fs::exists(Spec))
    return fromFile(Spec);
  std::string Names;
  for (const smalloc_machine &M : smalloc_machine_presets)
    if (StringRef(Names).find(M.name) == StringRef::npos)
      Names += (Names.empty() ? "" : ", ") + std::string(M.name);
  return createStringError(inconvertibleErrorCode(), "unknown machine '" + Spec +
                                                         "': neither a file nor one of native, " +
                                                         Names);
}

} // namespace smalloc
