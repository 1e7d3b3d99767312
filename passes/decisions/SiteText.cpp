//===- SiteText.cpp - texts about a site ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/decisions/SiteText.h"
#include "passes/ir/UnitName.h"
#include "passes/sites/RequestedSize.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <numeric>

using namespace llvm;

namespace smalloc {
namespace {

std::optional<uint64_t> constantArgument(const CallBase &Call, unsigned Index) {
  if (auto *C = dyn_cast<ConstantInt>(Call.getArgOperand(Index)))
    return C->getZExtValue();
  return std::nullopt;
}

constexpr uint64_t MaxElementBytes =
    65536; ///< a larger factor is a scale of the program, not an element

/// Returns the constant factor of a size expression, the element size in n * sizeof(T); 0: none.
uint64_t constantFactor(const SCEV *S) {
  if (auto *Cast = dyn_cast<SCEVCastExpr>(S))
    return constantFactor(Cast->getOperand());
  if (auto *Mul = dyn_cast<SCEVMulExpr>(S))
    if (auto *C = dyn_cast<SCEVConstant>(Mul->getOperand(0)))
      if (uint64_t Factor = C->getAPInt().abs().getLimitedValue(); Factor <= MaxElementBytes)
        return Factor;
  if (auto *U = dyn_cast<SCEVUnknown>(S))
    if (auto *Shift = dyn_cast<BinaryOperator>(U->getValue());
        Shift && Shift->getOpcode() == Instruction::Shl) // 8 << bits
      if (auto *C = dyn_cast<ConstantInt>(Shift->getOperand(0)))
        if (uint64_t Factor = C->getLimitedValue(); Factor <= MaxElementBytes)
          return Factor;
  if (auto *Sum = dyn_cast<SCEVAddExpr>(S)) { // (n + 1) * 24
    uint64_t Common = 0;
    for (const SCEV *Op : Sum->operands()) {
      auto *C = dyn_cast<SCEVConstant>(Op);
      Common = std::gcd(Common, C ? C->getAPInt().abs().getLimitedValue()
                                  : std::max<uint64_t>(constantFactor(Op), 1));
    }
    return Common > 1 && Common <= MaxElementBytes ? Common : 0;
  }
  return 0;
}

} // namespace

static bool isInSystemHeader(const DILocation &At) {
  const StringRef File = At.getFilename();
  return File.starts_with("/usr/include/") || File.contains("/include/c++/") ||
         File.contains("/lib/clang/");
}

const DILocation *userLocation(const Instruction &I) {
  const DILocation *Location = I.getDebugLoc();
  for (const DILocation *At = Location; At; At = At->getInlinedAt())
    if (!isInSystemHeader(*At))
      return At;
  return Location;
}

/// Returns the location where the program's own code calls \p F, a function of a library header.
/// The call may go through other functions of such headers. Returns null if the unit has no such
/// call.
static const DILocation *callerLocation(const Function &F) {
  constexpr unsigned MaxCalls = 64;
  SmallVector<const Function *, 8> Work{&F};
  for (unsigned Next = 0, Looked = 0; Next < Work.size(); ++Next) {
    const DILocation *First = nullptr;
    for (const User *U : Work[Next]->users()) {
      auto *Call = dyn_cast<CallBase>(U);
      const DILocation *At = Call ? userLocation(*Call) : nullptr;
      if (!At || Call->getCalledOperand() != Work[Next] || ++Looked > MaxCalls)
        continue;
      if (!isInSystemHeader(*At)) {
        // The order of uses depends on the optimiser: take the first place in the source.
        if (!First || std::tuple(At->getFilename(), At->getLine(), At->getColumn()) <
                          std::tuple(First->getFilename(), First->getLine(), First->getColumn()))
          First = At;
      } else if (!is_contained(Work, Call->getFunction())) {
        Work.push_back(Call->getFunction());
      }
    }
    if (First)
      return First;
  }
  return nullptr;
}

void describeLocation(SiteDecision &V, const Module &M) {
  V.File = unitName(M).str();
  if (V.File == "FIRModule") // flang uses this name for each module
    V.File.clear();
  auto NameOf = [](const DILocation *At) {
    const DISubprogram *In = At->getScope()->getSubprogram();
    return In->getLinkageName().empty() ? In->getName() : In->getLinkageName();
  };
  const DILocation *Location = V.Call->getDebugLoc();
  if (!Location)
    return;
  const DILocation *User = userLocation(*V.Call);
  if (isInSystemHeader(*User)) // all inlined frames are in the library
    if (const DILocation *Caller = callerLocation(*V.Call->getFunction()))
      User = Caller;
  V.File = User->getFilename().str();
  V.Line = User->getLine();
  V.Column = User->getColumn();
  if (User != Location)
    V.Function = NameOf(User).str();
  // Directives name a context by this text. It has no linkage names, which only full debug
  // information contains.
  for (const DILocation *At = Location->getInlinedAt(); At; At = At->getInlinedAt()) {
    if (!V.Context.empty())
      V.Context += '\n';
    const StringRef Function = At->getScope()->getSubprogram()->getName();
    V.Context += (Function + " " + At->getFilename() + ":" + Twine(At->getLine())).str();
  }
}

/// True if the allocated size may vary at this call, of which no argument is known to be the size.
/// A wrapper of the unit returns the same size for the same arguments. A wrapper of another unit
/// counts only in malloc's form, with a single integer argument.
bool mayVary(const SiteDecision &V) {
  const CallBase &Call = *V.Call;
  auto IsNumber = [](const Use &Argument) {
    return Argument->getType()->isIntegerTy() && !isa<ConstantInt>(Argument);
  };
  if (V.Wrapper)
    return !V.Wrapper->ConstantSize && any_of(Call.args(), IsNumber);
  return Call.arg_size() == 1 && IsNumber(*Call.arg_begin());
}

/// Sets the size of a wrapper call, if the wrapper's body or its alloc_size attribute shows which
/// argument holds it.
void describeWrapperSize(SiteDecision &V, function_ref<ScalarEvolution &()> Evolution) {
  const CallBase &Call = *V.Call;
  std::optional<unsigned> SizeArgument, CountArgument;
  if (V.Wrapper && V.Wrapper->SizeArgument >= 0)
    SizeArgument = static_cast<unsigned>(V.Wrapper->SizeArgument);
  else if (Attribute Declared = Call.getFnAttr(Attribute::AllocSize); Declared.isValid())
    std::tie(SizeArgument, CountArgument) = Declared.getAllocSizeArgs();
  V.SizeText = "n bytes";
  if (!SizeArgument || *SizeArgument >= Call.arg_size() ||
      (CountArgument && *CountArgument >= Call.arg_size())) {
    if (mayVary(V))
      V.Flags |= SMALLOC_SITE_ANY_SIZE;
    return;
  }
  std::optional<uint64_t> Size = constantArgument(Call, *SizeArgument),
                          Count = CountArgument ? constantArgument(Call, *CountArgument) : 1;
  if (Size && Count && (*Count == 0 || *Size <= UINT64_MAX / *Count)) {
    V.SizeBytes = *Size * *Count;
    V.SizeText = utostr(V.SizeBytes) + " bytes";
    return;
  }
  V.Flags |= SMALLOC_SITE_ANY_SIZE;
  V.ElementBytes = CountArgument
                       ? Size.value_or(Count.value_or(0))
                       : constantFactor(meantSize(Call.getArgOperand(*SizeArgument), Evolution()));
  if (V.ElementBytes > 1)
    V.SizeText = "n*" + utostr(V.ElementBytes) + " bytes";
}

void describeSize(SiteDecision &V, function_ref<ScalarEvolution &()> Evolution) {
  const CallBase &Call = *V.Call;
  unsigned SizeArgument = 0;
  std::optional<uint64_t> Count = 1;
  if (V.Family == AllocFamily::Wrapper) {
    describeWrapperSize(V, Evolution);
    return;
  }
  switch (V.Family) {
  case AllocFamily::Calloc:
    Count = constantArgument(Call, 0);
    SizeArgument = 1;
    break;
  case AllocFamily::Realloc:
  case AllocFamily::AlignedAlloc:
    SizeArgument = 1;
    break;
  case AllocFamily::PosixMemalign:
    SizeArgument = 2;
    break;
  case AllocFamily::ReallocArray:
    Count = constantArgument(Call, 1);
    SizeArgument = 2;
    break;
  case AllocFamily::FortranAllocate:
  case AllocFamily::FortranAssign:
  case AllocFamily::FortranSource:
  case AllocFamily::FortranCopyIn:
    V.SizeText = "n bytes"; // the size is in the array descriptor
    return;
  case AllocFamily::Mapping:
    SizeArgument = mappedBytesArgument(
        *cast<Function>(Call.getCalledOperand()->stripPointerCastsAndAliases()));
    break;
  default:
    break;
  }
  std::optional<uint64_t> Size = constantArgument(Call, SizeArgument);
  if (Size && Count && (*Count == 0 || *Size <= UINT64_MAX / std::max<uint64_t>(*Count, 1))) {
    V.SizeBytes = *Size * *Count;
    V.SizeText = utostr(V.SizeBytes) + " bytes";
  } else {
    V.Flags |= SMALLOC_SITE_ANY_SIZE;
  }
  const bool Elements = V.Family == AllocFamily::Calloc || V.Family == AllocFamily::ReallocArray;
  if (Elements && (Size || Count.value_or(0) > 1))
    V.ElementBytes = Size.value_or(Count.value_or(0));
  else if (!Size)
    V.ElementBytes = constantFactor(meantSize(Call.getArgOperand(SizeArgument), Evolution()));
  if (V.SizeText.empty())
    V.SizeText = V.ElementBytes > 1 ? "n*" + utostr(V.ElementBytes) + " bytes" : "n bytes";
}

std::string pagesText(double Pages) {
  double Rounded = std::ceil(Pages);
  return Rounded == 1 ? "1 page" : formatv("{0:f0} pages", Rounded).str();
}

std::string missesText(double Misses) {
  return formatv("{0} TLB misses an access",
                 formatv(Misses < 0.005 ? "{0:f4}" : "{0:f2}", Misses).str())
      .str();
}

std::string bytesText(uint64_t Bytes) {
  static constexpr const char *Units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  double Value = static_cast<double>(Bytes);
  unsigned Unit = 0;
  while (Value >= 1024 && Unit < 4) {
    Value /= 1024;
    ++Unit;
  }
  return Unit == 0 ? formatv("{0} bytes", Bytes).str()
                   : formatv("{0:f1} {1}", Value, Units[Unit]).str();
}

std::string nestText(const LoopReference &R) {
  const Function *F = R.Access->getFunction();
  if (!R.Outermost) {
    bool Recursion = any_of(R.Levels, [](const LoopLevel &L) { return L.Kind == Motion::Chase; });
    return (Recursion ? "the recursion of '" : "calls of '") + demangle(F->getName()) + "'";
  }
  std::string Line;
  if (DebugLoc Start = R.Outermost->getStartLoc())
    Line = " at line " + utostr(Start.getLine());
  else
    Line = " of '" + demangle(F->getName()) + "'";
  unsigned Depth = 0;
  for (const LoopLevel &L : R.Levels)
    Depth += L.L != nullptr;
  return Depth > 1 ? "the nest of " + utostr(Depth) + " loops" + Line : "the loop" + Line;
}

std::string motionText(const LoopReference &R) {
  const LoopLevel *L = R.varying();
  switch (L ? L->Kind : Motion::None) {
  case Motion::None:
    return "not moving";
  case Motion::Constant:
    return "walked " + itostr(std::abs(L->StrideBytes)) + " bytes apart";
  case Motion::Symbolic:
    return "walked across rows (a stride known at run time)";
  case Motion::Gather:
  case Motion::GatherOfGather:
    return "picked at random through loaded indices";
  case Motion::Chase:
    return "reached through pointers";
  case Motion::Irregular:
    return "picked at random through computed indices";
  }
  llvm_unreachable("every motion has its words");
}

std::string spreadText(const LoopReference &R, uint64_t PageBytes) {
  static constexpr const char *Names[] = {"i", "j", "k", "l"};
  std::string Product;
  unsigned Unknown = 0;
  for (const LoopLevel &L : R.Levels) {
    if (L.Kind == Motion::None)
      continue;
    // An endless loop, which only its body leaves, has a maximal trip count: treat it as unknown.
    const bool Ends = L.Trip && *L.Trip <= INT64_MAX;
    std::string Count = Ends ? utostr(*L.Trip) : Names[std::min(Unknown++, 3u)];
    if (L.Kind == Motion::Constant && static_cast<uint64_t>(std::abs(L.StrideBytes)) < PageBytes)
      Count += "*" + itostr(std::abs(L.StrideBytes)) + "/" + utostr(PageBytes);
    Product += (Product.empty() ? "" : "*") + Count;
  }
  return Product.empty() ? "1" : "min(" + Product + ", size/" + utostr(PageBytes) + ")";
}

std::string siteText(const SiteDecision &V) {
  if (V.Variable)
    return "'" + demangle(V.Function) + "' (" + V.Callee + ", " + V.SizeText + ")";
  std::string Callee = demangle(V.Callee);
  if (V.Family >= AllocFamily::New && V.Family < AllocFamily::Wrapper)
    Callee = StringRef(V.Callee).starts_with("_Zna") ? "new[]" : "new";
  else if (V.Family == AllocFamily::FortranAllocate)
    Callee = StringRef(V.Callee).contains("Pointer") ? "allocate (pointer)" : "allocate";
  else if (V.Family == AllocFamily::FortranAssign)
    return "assignment that allocates in '" + demangle(V.Function) + "'";
  else if (V.Family == AllocFamily::FortranSource)
    Callee = StringRef(V.Callee).contains("Pointer") ? "allocate (pointer, source)"
                                                     : "allocate (source)";
  else if (V.Family == AllocFamily::FortranCopyIn)
    return "copy of a section in '" + demangle(V.Function) + "'";
  return Callee + " of " + V.SizeText + " in '" + demangle(V.Function) + "'";
}

StringRef patternName(smalloc_pattern P) {
  static constexpr StringRef Names[] = {"unknown", "none",      "streaming",
                                        "strided", "scattered", "pointer-chasing"};
  return Names[P];
}

StringRef decisionName(smalloc_decision D) {
  static constexpr StringRef Names[] = {"base", "superpage", "runtime"};
  return Names[D];
}

} // namespace smalloc
