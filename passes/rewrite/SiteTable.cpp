//===- SiteTable.cpp - a unit's sites as data -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/rewrite/SiteTable.h"
#include "passes/ir/UnitName.h"
#include "smalloc/site_order.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/EndianStream.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/xxhash.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"
#include <cmath>
#include <tuple>

using namespace llvm;

namespace smalloc {
namespace {

/// Limits of texts in bytes: names of template instances have any length.
constexpr size_t MaxNameBytes = 200, MaxKeyNameBytes = 300, MaxWhyBytes = 400;

StringRef patternName(smalloc_pattern P) {
  static constexpr StringRef Names[] = {"unknown", "none",      "streaming",
                                        "strided", "scattered", "pointer-chasing"};
  return Names[P];
}

StringRef decisionName(smalloc_decision D) {
  static constexpr StringRef Names[] = {"base", "superpage", "runtime"};
  return Names[D];
}

uint64_t wordOf(const SiteDecision &V, const Options &O) {
  if (V.Decision == SMALLOC_DECISION_BASE && (V.Flags & SMALLOC_SITE_PARTITIONED))
    return SMALLOC_WORD(V.Decision, V.Flags, BaseShift, SMALLOC_BY_COMPILER, 0);
  if (V.Decision == SMALLOC_DECISION_BASE)
    return 0;
  // libsmalloc lets malloc serve an undecided object below a superpage. A word of 0 makes the thunk
  // call malloc at once.
  if ((V.Flags & SMALLOC_SITE_UNDECIDED) &&
      (O.Heap == SMALLOC_HEAP_AUTO || O.Heap == SMALLOC_HEAP_GUEST) &&
      (V.Flags & SMALLOC_SITE_SMALL))
    return 0;
  uint64_t MinPages = V.MinBytes == SMALLOC_UNKNOWN
                          ? UINT32_MAX
                          : std::min<uint64_t>(divideCeil(V.MinBytes, 4096), UINT32_MAX);
  unsigned Flags = V.Flags;
  if ((V.Flags & SMALLOC_SITE_UNDECIDED) && O.Heap == SMALLOC_HEAP_MIGRATE)
    Flags |= SMALLOC_SITE_SMALL; // the class heap serves every size: no filter in the thunk
  return SMALLOC_WORD(V.Decision, Flags, V.PageShift, V.DecidedBy, MinPages);
}

/// Stores the strings of a record, each as an offset from the record's start.
class StringArea {
public:
  explicit StringArea(uint32_t Start) : Start(Start) {}
  uint32_t add(StringRef S) {
    if (S.empty())
      return 0;
    uint32_t Offset = Start + static_cast<uint32_t>(Bytes.size());
    Bytes.append(S.begin(), S.end());
    Bytes.push_back('\0');
    return Offset;
  }
  /// Returns the offset of the next string.
  uint32_t end() const { return Start + static_cast<uint32_t>(Bytes.size()); }
  std::string Bytes;

private:
  uint32_t Start;
};

Constant *fieldConstant(Type *T, uint64_t V) { return ConstantInt::get(T, V); }

} // namespace

void KeptVariables::appendTo(Module &M) {
  if (!ForImage.empty())
    appendToUsed(M, ForImage);
  if (!ForUnit.empty())
    appendToCompilerUsed(M, ForUnit);
  *this = KeptVariables();
}

GlobalVariable *emitSite(Module &M, const SiteDecision &V, const Options &O, KeptVariables &Kept) {
  LLVMContext &C = M.getContext();
  Type *I8 = Type::getInt8Ty(C), *I16 = Type::getInt16Ty(C), *I32 = Type::getInt32Ty(C),
       *I64 = Type::getInt64Ty(C);
  Type *Float = Type::getFloatTy(C);
  const Function *In = V.Call ? V.Call->getFunction() : nullptr;
  // Copies of an ODR function in several units share one record, under a name common to all.
  const bool Shared = In && (In->hasLinkOnceLinkage() || In->hasWeakLinkage());
  const std::string &Name = V.Name;
  auto Place = [&](GlobalVariable *G, StringRef Section, unsigned Alignment) {
    G->setSection(Section);
    G->setAlignment(Align(Alignment));
    if (Shared) {
      G->setVisibility(GlobalValue::HiddenVisibility);
      G->setComdat(M.getOrInsertComdat(Name));
    }
    G->setDSOLocal(true);
  };
  const auto Linkage = Shared ? GlobalValue::LinkOnceODRLinkage : GlobalValue::InternalLinkage;

  GlobalVariable *Cell = nullptr;
  if (V.steerable()) {
    StructType *CellType = StructType::get(I64, I64, I64);
    Cell = new GlobalVariable(M, CellType, /*isConstant=*/false, Linkage,
                              Constant::getNullValue(CellType),
                              Shared ? Name + "_cell" : Name + ".cell");
    Place(Cell, SMALLOC_CELLS_SECTION, SMALLOC_CELL_ALIGNMENT);
    Cell->setExternallyInitialized(true); // the runtime changes it: never folded
  }

  StringArea Strings(sizeof(smalloc_site));
  const uint32_t FunctionAt = Strings.add(V.Function), FileAt = Strings.add(V.File),
                 CalleeAt = Strings.add(V.Callee), SpreadAt = Strings.add(V.SpreadText),
                 WhyAt = Strings.add(V.Why), ContextAt = Strings.add(V.Context),
                 MachineAt = Strings.add(O.Machine.Name), ArrayAt = Strings.add(V.Array);
  while ((sizeof(smalloc_site) + Strings.Bytes.size()) % 8)
    Strings.Bytes.push_back('\0');
  Constant *Text = ConstantDataArray::getString(C, Strings.Bytes, /*AddNull=*/false);
  StructType *RecordType =
      StructType::get(C, {I32, I16, I16, I32, I32, I64, I32, I32, I32, I32, I32,   I32,
                          I32, I32, I32, I32, I32, I32, I64, I64, I64, I64, Float, Float,
                          I8,  I8,  I8,  I8,  I8,  I8,  I8,  I8,  I64, I32, I32,   Text->getType()},
                      /*isPacked=*/true);
  auto *Record = new GlobalVariable(M, RecordType, /*isConstant=*/true, Linkage, nullptr, Name);
  Place(Record, SMALLOC_SITES_SECTION, 8);
  auto Distance = [&](Constant *To, Constant *From) {
    return ConstantExpr::getSub(ConstantExpr::getPtrToInt(To, I64),
                                ConstantExpr::getPtrToInt(From, I64));
  };
  Constant *CellOffset =
      Cell ? ConstantExpr::getTrunc(Distance(Cell, Record), I32) : fieldConstant(I32, 0);
  const bool Superpages = V.Decision != SMALLOC_DECISION_BASE;
  auto Known = [&](double Value) { return ConstantFP::get(Float, Value); };
  Record->setInitializer(ConstantStruct::get(
      RecordType,
      {fieldConstant(I32, SMALLOC_SITE_MAGIC),
       fieldConstant(I16, SMALLOC_ABI_VERSION),
       fieldConstant(I16, sizeof(smalloc_site)),
       fieldConstant(I32, sizeof(smalloc_site) + Strings.Bytes.size()),
       fieldConstant(I32, V.Flags),
       fieldConstant(I64, V.Id),
       CellOffset,
       fieldConstant(I32, V.Line),
       fieldConstant(I32, V.Column),
       fieldConstant(I32, static_cast<uint32_t>(std::min<uint64_t>(V.ElementBytes, UINT32_MAX))),
       fieldConstant(I32, FunctionAt),
       fieldConstant(I32, FileAt),
       fieldConstant(I32, CalleeAt),
       fieldConstant(I32, SpreadAt),
       fieldConstant(I32, WhyAt),
       fieldConstant(I32, ContextAt),
       fieldConstant(I32, MachineAt),
       fieldConstant(I32, static_cast<uint32_t>(O.Machine.ReachPages)),
       fieldConstant(I64, V.SizeBytes),
       fieldConstant(I64, V.SpreadPages),
       fieldConstant(I64, V.FaultsSaved),
       fieldConstant(I64, V.MinBytes),
       Known(V.MissesPerAccess),
       Known(V.SavingCycles),
       fieldConstant(I8, V.Pattern),
       fieldConstant(I8, V.Decision),
       fieldConstant(I8, V.DecidedBy),
       fieldConstant(I8, O.Model),
       fieldConstant(I8, Superpages ? V.PageShift : BaseShift),
       fieldConstant(I8, V.Confidence),
       fieldConstant(I8, O.Machine.FromFile ? SMALLOC_MACHINE_FILE : SMALLOC_MACHINE_PRESET),
       fieldConstant(I8, Log2_64(O.Machine.BasePageBytes)),
       fieldConstant(I64, V.Node),
       fieldConstant(I32, V.Worth),
       fieldConstant(I32, ArrayAt),
       Text}));
  // Retained under --gc-sections: __start_smalloc_sites must exist if a module record refers to it.
  Kept.ForImage.push_back(Record);
  if (Cell) {
    Cell->setInitializer(ConstantStruct::get(
        cast<StructType>(Cell->getValueType()),
        {fieldConstant(I64, wordOf(V, O)), Distance(Record, Cell), fieldConstant(I64, 0)}));
    Kept.ForUnit.push_back(Cell);
  }
  return Cell;
}

static_assert(sizeof(smalloc_site) == 136 && offsetof(smalloc_site, size_bytes) == 72 &&
                  offsetof(smalloc_site, pattern) == 112,
              "the record's fields above follow smalloc/site.h");

bool hasCell(const GlobalVariable &Record) {
  auto *Fields = dyn_cast<ConstantStruct>(Record.getInitializer());
  return !Fields || !Fields->getOperand(6)->isNullValue();
}

SiteDecision readSite(const GlobalVariable &Record) {
  SiteDecision V;
  auto *Fields = dyn_cast<ConstantStruct>(Record.getInitializer());
  if (!Fields || Fields->getNumOperands() != 36)
    return V; // a record of another version
  auto Number = [&](unsigned I) {
    auto *C = dyn_cast<ConstantInt>(Fields->getOperand(I));
    return C ? C->getZExtValue() : 0;
  };
  auto Real = [&](unsigned I) {
    auto *C = dyn_cast<ConstantFP>(Fields->getOperand(I));
    return C ? C->getValue().convertToDouble() : -1;
  };
  auto *Text = dyn_cast<ConstantDataSequential>(Fields->getOperand(35));
  auto String = [&](unsigned I) {
    const uint64_t At = Number(I) - sizeof(smalloc_site);
    return Number(I) && Text && At < Text->getNumElements()
               ? Text->getRawDataValues().drop_front(At).take_until([](char C) { return !C; }).str()
               : std::string();
  };
  V.Flags = static_cast<unsigned>(Number(4));
  V.Id = Number(5);
  V.Line = static_cast<unsigned>(Number(7));
  V.Column = static_cast<unsigned>(Number(8));
  V.Function = String(10);
  V.File = String(11);
  V.SpreadText = String(13);
  V.Why = String(14);
  V.SpreadPages = Number(19);
  V.MinBytes = Number(21);
  V.MissesPerAccess = Real(22);
  V.SavingCycles = Real(23);
  V.Pattern = static_cast<smalloc_pattern>(Number(24));
  V.Decision = static_cast<smalloc_decision>(Number(25));
  V.DecidedBy = static_cast<smalloc_decided_by>(Number(26));
  V.Confidence = static_cast<unsigned>(Number(29));
  V.Worth = static_cast<uint32_t>(Number(33));
  V.Array = String(34);
  return V;
}

void takeDecision(SiteDecision &V, const SiteDecision &Decided) {
  V.Flags = Decided.Flags;
  V.SpreadText = Decided.SpreadText;
  V.Why = Decided.Why;
  V.SpreadPages = Decided.SpreadPages;
  V.MinBytes = Decided.MinBytes;
  V.MissesPerAccess = Decided.MissesPerAccess;
  V.SavingCycles = Decided.SavingCycles;
  V.Pattern = Decided.Pattern;
  V.Decision = Decided.Decision;
  V.DecidedBy = Decided.DecidedBy;
  V.Confidence = Decided.Confidence;
  V.Worth = Decided.Worth;
}

GlobalVariable *emitKeys(Module &M, const KeyedSummary &Summary, KeptVariables &Kept) {
  StringArea Strings(static_cast<uint32_t>(sizeof(smalloc_keys) +
                                           Summary.Flows.size() * sizeof(smalloc_flow) +
                                           Summary.Accesses.size() * sizeof(smalloc_key_access)));
  DenseMap<uint64_t, uint32_t> NameAt;
  auto NameOf = [&](uint64_t Key) {
    auto [It, New] = NameAt.try_emplace(Key, 0);
    if (auto Name = Summary.Names.find(Key); New && Name != Summary.Names.end())
      It->second = Strings.add(StringRef(Name->second).take_front(MaxKeyNameBytes));
    return It->second;
  };
  const endianness Order =
      M.getDataLayout().isLittleEndian() ? endianness::little : endianness::big;
  std::string Fixed;
  raw_string_ostream Out(Fixed);
  support::endian::Writer W(Out, Order);
  // Add the strings first: the header holds the length of the block.
  const uint32_t UnitAt = Strings.add(unitName(M).take_back(MaxNameBytes));
  std::vector<uint32_t> Whys;
  for (const KeyedSummary::Flow &F : Summary.Flows)
    NameOf(F.To);
  for (const KeyedSummary::Access &A : Summary.Accesses) {
    NameOf(A.Root.Key);
    Whys.push_back(Strings.add(StringRef(A.Why).take_front(MaxWhyBytes)));
  }
  while (Strings.end() % 8)
    Strings.Bytes.push_back('\0');
  W.write<uint32_t>(SMALLOC_KEYS_MAGIC);
  W.write<uint16_t>(SMALLOC_ABI_VERSION);
  W.write<uint16_t>(sizeof(smalloc_keys));
  W.write<uint32_t>(Strings.end());
  W.write<uint32_t>(static_cast<uint32_t>(Summary.Flows.size()));
  W.write<uint32_t>(static_cast<uint32_t>(Summary.Accesses.size()));
  W.write<uint32_t>(UnitAt);
  for (const KeyedSummary::Flow &F : Summary.Flows) {
    W.write<uint64_t>(F.From);
    W.write<uint64_t>(F.To);
    W.write<uint32_t>(NameOf(F.To));
    W.write<uint32_t>(F.Flags);
  }
  for (size_t I = 0; I < Summary.Accesses.size(); ++I) {
    const KeyedSummary::Access &A = Summary.Accesses[I];
    W.write<uint64_t>(A.Root.Key);
    W.write<uint64_t>(A.MinBytes);
    W.write<float>(static_cast<float>(A.Misses));
    W.write<float>(static_cast<float>(A.Saving));
    W.write<uint32_t>(NameOf(A.Root.Key));
    W.write<uint32_t>(Whys[I]);
    Out << static_cast<char>(A.Pattern) << static_cast<char>(A.Root.Contents)
        << static_cast<char>(A.Confidence);
    Out.write_zeros(sizeof(smalloc_key_access::reserved));
  }
  Constant *Block = ConstantDataArray::getString(M.getContext(), Fixed + Strings.Bytes,
                                                 /*AddNull=*/false);
  auto *G = new GlobalVariable(M, Block->getType(), /*isConstant=*/true,
                               GlobalValue::InternalLinkage, Block, "__smalloc_v1_keys");
  G->setSection(SMALLOC_KEYS_SECTION);
  G->setAlignment(Align(8));
  G->setDSOLocal(true);
  Kept.ForImage.push_back(G); // only the section's bounds refer to it
  return G;
}

static_assert(sizeof(smalloc_keys) == 24 && sizeof(smalloc_flow) == 24 &&
                  sizeof(smalloc_key_access) == 40,
              "the block's fields above follow smalloc/site.h");

/// Returns the sites in the order of `smalloc sites`; sites of equal benefit by id.
static std::vector<const SiteDecision *> byBenefit(ArrayRef<SiteDecision> Sites) {
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

Error writeSitesJson(const Module &M, ArrayRef<SiteDecision> Sites, const Options &O) {
  auto Optional = [](uint64_t V) {
    return V == SMALLOC_UNKNOWN ? json::Value(nullptr) : json::Value(V);
  };
  auto Number = [](double V) { return V < 0 ? json::Value(nullptr) : json::Value(V); };
  json::Array Rows;
  unsigned Counts[3] = {};
  auto Known = [](StringRef Text) {
    return Text.empty() ? json::Value(nullptr) : json::Value(Text);
  };
  auto AboveZero = [](uint64_t V) { return V ? json::Value(V) : json::Value(nullptr); };
  for (const SiteDecision *Verdict : byBenefit(Sites)) {
    const SiteDecision &V = *Verdict;
    ++Counts[V.Decision];
    json::Array Context;
    SmallVector<StringRef, 4> Chain;
    StringRef(V.Context).split(Chain, '\n', -1, /*KeepEmpty=*/false);
    for (StringRef Line : Chain)
      Context.push_back(Line);
    json::Array References;
    for (const ReferenceRow &R : V.References) {
      json::Object Row{{"function", R.Function},
                       {"line", R.Line},
                       {"column", R.Column},
                       {"pattern", patternName(R.Pattern)},
                       {"saving_cycles_per_access", R.Saving},
                       {"min_bytes", Optional(R.MinBytes)}};
      if (R.Accesses >= 0) {
        Row["pages"] = R.Pages;
        Row["accesses"] = R.Accesses;
        Row["misses_per_access"] = R.Misses;
        Row["exposed_misses_per_access"] = R.Exposed;
      }
      References.push_back(std::move(Row));
    }
    const bool Superpages = V.Decision != SMALLOC_DECISION_BASE;
    Rows.push_back(
        json::Object{{"id", utohexstr(V.Id, true, 16)},
                     {"context", std::move(Context)},
                     {"function", Known(V.Function)},
                     {"file", Known(V.File)},
                     {"line", AboveZero(V.Line)},
                     {"column", AboveZero(V.Column)},
                     {"array", Known(V.Array)},
                     {"callee", Known(V.Callee)},
                     {"element_bytes", AboveZero(V.ElementBytes)},
                     {"size_bytes", Optional(V.SizeBytes)},
                     {"pattern", patternName(V.Pattern)},
                     {"spread_pages", Optional(V.SpreadPages)},
                     {"spread_expr", Known(V.SpreadText)},
                     {"misses_per_access", Number(V.MissesPerAccess)},
                     {"saving_cycles_per_access", Number(V.SavingCycles)},
                     {"first_touch_faults_saved", Optional(V.FaultsSaved)},
                     {"fully_initialised", bool(V.Flags & SMALLOC_SITE_FULLY_INITIALISED)},
                     {"partitioned", bool(V.Flags & SMALLOC_SITE_PARTITIONED)},
                     {"decision", decisionName(V.Decision)},
                     {"page_bytes", uint64_t(1) << (Superpages ? V.PageShift : BaseShift)},
                     {"heap", Superpages ? "superpage" : "program"},
                     {"min_bytes", Optional(V.MinBytes)},
                     {"decided_by", V.DecidedBy == SMALLOC_BY_PROFILE ? "profile" : "compiler"},
                     {"rewritten", V.steerable()},
                     {"undecided", bool(V.Flags & SMALLOC_SITE_UNDECIDED)},
                     {"escapes", bool(V.Flags & SMALLOC_SITE_ESCAPES)},
                     {"small_objects", bool(V.Flags & SMALLOC_SITE_SMALL)},
                     {"joined", false},
                     {"copies", 1},
                     {"confidence", V.Confidence / 100.0},
                     {"references", std::move(References)},
                     {"why", Known(V.Why)}});
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
