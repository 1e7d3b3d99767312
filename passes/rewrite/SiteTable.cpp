//===- SiteTable.cpp - a unit's sites as data -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/rewrite/SiteTable.h"
#include "passes/rewrite/StringArea.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace llvm;

namespace smalloc {
namespace {

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

Constant *fieldConstant(Type *T, uint64_t V) { return ConstantInt::get(T, V); }

} // namespace

void KeptVariables::appendTo(Module &M) {
  if (!ForImage.empty())
    appendToUsed(M, ForImage);
  if (!ForUnit.empty())
    appendToCompilerUsed(M, ForUnit);
  *this = KeptVariables();
}

namespace {

/// The linkage and the section group of a site's variables.
class SiteVariables {
public:
  SiteVariables(Module &M, const SiteDecision &V)
      : M(M), Name(V.Name), Shared(isShared(V)),
        Linkage(Shared ? GlobalValue::LinkOnceODRLinkage : GlobalValue::InternalLinkage) {}

  GlobalVariable *cell() const {
    Type *I64 = Type::getInt64Ty(M.getContext());
    StructType *CellType = StructType::get(I64, I64, I64);
    auto *Cell = new GlobalVariable(M, CellType, /*isConstant=*/false, Linkage,
                                    Constant::getNullValue(CellType),
                                    Shared ? Name + "_cell" : Name + ".cell");
    place(Cell, SMALLOC_CELLS_SECTION, SMALLOC_CELL_ALIGNMENT);
    Cell->setExternallyInitialized(true); // the runtime changes it: never folded
    return Cell;
  }
  GlobalVariable *record(StructType *Type) const {
    auto *Record = new GlobalVariable(M, Type, /*isConstant=*/true, Linkage, nullptr, Name);
    place(Record, SMALLOC_SITES_SECTION, 8);
    return Record;
  }

private:
  /// True if copies of an ODR function in several units share one record, under a name common to
  /// all.
  static bool isShared(const SiteDecision &V) {
    const Function *In = V.Call ? V.Call->getFunction() : nullptr;
    return In && (In->hasLinkOnceLinkage() || In->hasWeakLinkage());
  }
  void place(GlobalVariable *G, StringRef Section, unsigned Alignment) const {
    G->setSection(Section);
    G->setAlignment(Align(Alignment));
    if (Shared) {
      G->setVisibility(GlobalValue::HiddenVisibility);
      G->setComdat(M.getOrInsertComdat(Name));
    }
    G->setDSOLocal(true);
  }

  Module &M;
  const std::string &Name;
  bool Shared;
  GlobalValue::LinkageTypes Linkage;
};

/// The strings of a site's record.
struct SiteStrings {
  StringArea Area{sizeof(smalloc_site)};
  uint32_t Function, File, Callee, Spread, Why, Context, Machine, Array;
  SiteStrings(const SiteDecision &V, const Options &O)
      : Function(Area.add(V.Function)), File(Area.add(V.File)), Callee(Area.add(V.Callee)),
        Spread(Area.add(V.SpreadText)), Why(Area.add(V.Why)), Context(Area.add(V.Context)),
        Machine(Area.add(O.Machine.Name)), Array(Area.add(V.Array)) {
    Area.align();
  }
};

/// Returns the type of smalloc_site with \p Text behind it.
StructType *recordType(LLVMContext &C, Type *Text) {
  Type *I8 = Type::getInt8Ty(C), *I16 = Type::getInt16Ty(C), *I32 = Type::getInt32Ty(C),
       *I64 = Type::getInt64Ty(C), *Float = Type::getFloatTy(C);
  return StructType::get(C, {I32, I16, I16, I32, I32, I64, I32, I32, I32, I32, I32,   I32,
                             I32, I32, I32, I32, I32, I32, I64, I64, I64, I64, Float, Float,
                             I8,  I8,  I8,  I8,  I8,  I8,  I8,  I8,  I64, I32, I32,   Text},
                         /*isPacked=*/true);
}

/// Returns the record of \p V. \p CellOffset: distance of its cell, or 0.
Constant *recordOf(const SiteDecision &V, const Options &O, const SiteStrings &Strings,
                   Constant *CellOffset) {
  LLVMContext &C = CellOffset->getContext();
  Type *I8 = Type::getInt8Ty(C), *I16 = Type::getInt16Ty(C), *I32 = Type::getInt32Ty(C),
       *I64 = Type::getInt64Ty(C), *Float = Type::getFloatTy(C);
  Constant *Text = ConstantDataArray::getString(C, Strings.Area.Bytes, /*AddNull=*/false);
  const bool Superpages = V.Decision != SMALLOC_DECISION_BASE;
  return ConstantStruct::get(
      recordType(C, Text->getType()),
      {fieldConstant(I32, SMALLOC_SITE_MAGIC),
       fieldConstant(I16, SMALLOC_ABI_VERSION),
       fieldConstant(I16, sizeof(smalloc_site)),
       fieldConstant(I32, Strings.Area.end()),
       fieldConstant(I32, V.Flags),
       fieldConstant(I64, V.Id),
       CellOffset,
       fieldConstant(I32, V.Line),
       fieldConstant(I32, V.Column),
       fieldConstant(I32, static_cast<uint32_t>(std::min<uint64_t>(V.ElementBytes, UINT32_MAX))),
       fieldConstant(I32, Strings.Function),
       fieldConstant(I32, Strings.File),
       fieldConstant(I32, Strings.Callee),
       fieldConstant(I32, Strings.Spread),
       fieldConstant(I32, Strings.Why),
       fieldConstant(I32, Strings.Context),
       fieldConstant(I32, Strings.Machine),
       fieldConstant(I32, static_cast<uint32_t>(O.Machine.ReachPages)),
       fieldConstant(I64, V.SizeBytes),
       fieldConstant(I64, V.SpreadPages),
       fieldConstant(I64, V.FaultsSaved),
       fieldConstant(I64, V.MinBytes),
       ConstantFP::get(Float, V.MissesPerAccess),
       ConstantFP::get(Float, V.SavingCycles),
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
       fieldConstant(I32, Strings.Array),
       Text});
}

Constant *distance(Constant *To, Constant *From) {
  Type *I64 = Type::getInt64Ty(To->getContext());
  return ConstantExpr::getSub(ConstantExpr::getPtrToInt(To, I64),
                              ConstantExpr::getPtrToInt(From, I64));
}

} // namespace

GlobalVariable *emitSite(Module &M, const SiteDecision &V, const Options &O, KeptVariables &Kept) {
  LLVMContext &C = M.getContext();
  Type *I32 = Type::getInt32Ty(C), *I64 = Type::getInt64Ty(C);
  const SiteVariables Variables(M, V);
  GlobalVariable *Cell = V.steerable() ? Variables.cell() : nullptr;
  const SiteStrings Strings(V, O);
  GlobalVariable *Record = Variables.record(
      recordType(C, ArrayType::get(Type::getInt8Ty(C), Strings.Area.Bytes.size())));
  Constant *CellOffset =
      Cell ? ConstantExpr::getTrunc(distance(Cell, Record), I32) : fieldConstant(I32, 0);
  Record->setInitializer(recordOf(V, O, Strings, CellOffset));
  // Retained under --gc-sections: __start_smalloc_sites must exist if a module record refers to it.
  Kept.ForImage.push_back(Record);
  if (Cell) {
    Cell->setInitializer(ConstantStruct::get(
        cast<StructType>(Cell->getValueType()),
        {fieldConstant(I64, wordOf(V, O)), distance(Record, Cell), fieldConstant(I64, 0)}));
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
  V.Node = Number(32);
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

} // namespace smalloc
