//===- SiteJson.cpp - a unit's sites as JSON ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes the file of -fplugin-arg-smalloc-sites=DIR, with the fields of `smalloc sites --json`.
//===----------------------------------------------------------------------===//
#include "passes/decisions/SiteText.h"
#include "passes/rewrite/SiteTable.h"
#include "smalloc/site_order.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/xxhash.h"
#include <tuple>

using namespace llvm;

namespace smalloc {
namespace {

/// Returns the sites in the order of `smalloc sites`; sites of equal benefit by id.
std::vector<const SiteDecision *> byBenefit(ArrayRef<SiteDecision> Sites) {
  const auto Key = [](const SiteDecision *V) {
    return std::tuple(smalloc_site_rank(V->Decision),
                      -smalloc_site_benefit(V->SavingCycles, V->SpreadPages), V->Id);
  };
  std::vector<const SiteDecision *> Order;
  for (const SiteDecision &V : Sites)
    Order.push_back(&V);
  stable_sort(Order, [&](const SiteDecision *A, const SiteDecision *B) { return Key(A) < Key(B); });
  return Order;
}

json::Value orNull(StringRef Text) {
  return Text.empty() ? json::Value(nullptr) : json::Value(Text);
}
json::Value orNull(double V) { return V < 0 ? json::Value(nullptr) : json::Value(V); }
json::Value knownBytes(uint64_t V) {
  return V == SMALLOC_UNKNOWN ? json::Value(nullptr) : json::Value(V);
}
json::Value aboveZero(uint64_t V) { return V ? json::Value(V) : json::Value(nullptr); }

json::Array linesOf(StringRef Context) {
  json::Array Lines;
  SmallVector<StringRef, 4> Chain;
  Context.split(Chain, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef Line : Chain)
    Lines.push_back(Line);
  return Lines;
}

json::Array rowsOf(ArrayRef<ReferenceRow> References) {
  json::Array Rows;
  for (const ReferenceRow &R : References) {
    json::Object Row{{"function", R.Function},
                     {"line", R.Line},
                     {"column", R.Column},
                     {"pattern", patternName(R.Pattern)},
                     {"saving_cycles_per_access", R.Saving},
                     {"min_bytes", knownBytes(R.MinBytes)}};
    if (R.Accesses >= 0) {
      Row["pages"] = R.Pages;
      Row["accesses"] = R.Accesses;
      Row["misses_per_access"] = R.Misses;
      Row["exposed_misses_per_access"] = R.Exposed;
    }
    Rows.push_back(std::move(Row));
  }
  return Rows;
}

json::Object siteObject(const SiteDecision &V) {
  const bool Superpages = V.Decision != SMALLOC_DECISION_BASE;
  return json::Object{{"id", utohexstr(V.Id, true, 16)},
                      {"context", linesOf(V.Context)},
                      {"function", orNull(V.Function)},
                      {"file", orNull(V.File)},
                      {"line", aboveZero(V.Line)},
                      {"column", aboveZero(V.Column)},
                      {"array", orNull(V.Array)},
                      {"callee", orNull(V.Callee)},
                      {"element_bytes", aboveZero(V.ElementBytes)},
                      {"size_bytes", knownBytes(V.SizeBytes)},
                      {"pattern", patternName(V.Pattern)},
                      {"spread_pages", knownBytes(V.SpreadPages)},
                      {"spread_expr", orNull(V.SpreadText)},
                      {"misses_per_access", orNull(V.MissesPerAccess)},
                      {"saving_cycles_per_access", orNull(V.SavingCycles)},
                      {"first_touch_faults_saved", knownBytes(V.FaultsSaved)},
                      {"fully_initialised", bool(V.Flags & SMALLOC_SITE_FULLY_INITIALISED)},
                      {"partitioned", bool(V.Flags & SMALLOC_SITE_PARTITIONED)},
                      {"decision", decisionName(V.Decision)},
                      {"page_bytes", uint64_t(1) << (Superpages ? V.PageShift : BaseShift)},
                      {"heap", Superpages ? "superpage" : "program"},
                      {"min_bytes", knownBytes(V.MinBytes)},
                      {"decided_by", V.DecidedBy == SMALLOC_BY_PROFILE ? "profile" : "compiler"},
                      {"rewritten", V.steerable()},
                      {"undecided", bool(V.Flags & SMALLOC_SITE_UNDECIDED)},
                      {"escapes", bool(V.Flags & SMALLOC_SITE_ESCAPES)},
                      {"small_objects", bool(V.Flags & SMALLOC_SITE_SMALL)},
                      {"joined", false},
                      {"copies", 1},
                      {"confidence", V.Confidence / 100.0},
                      {"references", rowsOf(V.References)},
                      {"why", orNull(V.Why)}};
}

} // namespace

Error writeSitesJson(const Module &M, ArrayRef<SiteDecision> Sites, const Options &O) {
  json::Array Rows;
  unsigned Counts[3] = {};
  for (const SiteDecision *V : byBenefit(Sites)) {
    ++Counts[V->Decision];
    Rows.push_back(siteObject(*V));
  }
  json::Object Top{{"schema", "smalloc.sites/1"},
                   {"binary", json::Object{{"path", nullptr}, {"build_id", nullptr}}}, // none yet
                   {"unit", M.getSourceFileName()},
                   {"model", O.Model == SMALLOC_MODEL_PAPER ? "paper" : "spread"},
                   {"joined", false},
                   {"machine", json::Object{{"name", O.Machine.Name},
                                            {"base_page_bytes", O.Machine.BasePageBytes},
                                            {"reach_pages", O.Machine.ReachPages},
                                            {"source", O.Machine.FromFile ? "file" : "preset"}}},
                   {"sites", std::move(Rows)},
                   {"totals", json::Object{{"sites", Sites.size()},
                                           {"superpage", Counts[SMALLOC_DECISION_SUPERPAGE]},
                                           {"base", Counts[SMALLOC_DECISION_BASE]},
                                           {"runtime", Counts[SMALLOC_DECISION_RUNTIME]}}}};
  SmallString<256> Path(O.SitesDir);
  sys::path::append(Path, sys::path::filename(M.getSourceFileName()) + "." +
                              utohexstr(xxh3_64bits(M.getSourceFileName()), true, 16) + ".json");
  return writeToOutput(Path, [&](raw_ostream &OS) {
    OS << formatv("{0:2}", json::Value(std::move(Top))) << '\n';
    return Error::success();
  });
}

} // namespace smalloc
