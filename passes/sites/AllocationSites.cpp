//===- AllocationSites.cpp - the calls that allocate ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/sites/AllocationSites.h"
#include "passes/ir/LlvmVersions.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace smalloc {
namespace {

constexpr StringRef HostedMetadata = "smalloc.hosted";

/// True if \p Call, of mmap, maps private, anonymous, readable and writable memory at any address,
/// with no other flags that matter.
bool mapsPlainMemory(const CallBase &Call) {
  const Triple T = targetTriple(*Call.getModule());
  if (!T.isOSLinux() || !(T.isX86() || T.isAArch64() || T.isRISCV())) // targets of these numbers
    return false;
  constexpr uint64_t ReadWrite = 3, PrivateAnonymous = 0x22, NoReserve = 0x4000, Populate = 0x8000;
  auto *Protection = dyn_cast<ConstantInt>(Call.getArgOperand(2)),
       *Flags = dyn_cast<ConstantInt>(Call.getArgOperand(3));
  return isa<ConstantPointerNull>(Call.getArgOperand(0)) && Protection && Flags &&
         Protection->getZExtValue() == ReadWrite &&
         (Flags->getZExtValue() & ~(NoReserve | Populate)) == PrivateAnonymous;
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

unsigned mappedBytesArgument(const Function &F) { return F.getName().starts_with("mmap") ? 1 : 0; }

std::optional<AllocFamily> allocationFamily(const CallBase &Call) {
  const FamilyRow *Row = calledRow(Call);
  if (!Row)
    return std::nullopt;
  const auto *Callee = cast<Function>(Call.getCalledOperand()->stripPointerCastsAndAliases());
  if (fitOf(Call, *Callee, Row->Types) != Fit::Exact ||
      (Row->Name.starts_with("mmap") && !mapsPlainMemory(Call)))
    return std::nullopt;
  return Row->Family;
}

bool definesAllocator(const Module &M, std::string *Name) {
  for (const Function &F : M) {
    if (F.isDeclaration() || F.hasAvailableExternallyLinkage() || F.hasLocalLinkage())
      continue;
    StringRef N = F.getName();
    bool Ours = N == "free" || N.starts_with("_ZdlPv") || N.starts_with("_ZdaPv") ||
                any_of(allocationFunctions(), [&](const FamilyRow &Row) {
                  return Row.Family < AllocFamily::Wrapper && Row.Name == N;
                });
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
         F.hasFnAttribute(Attribute::Naked) ||
         (F.hasFnAttribute("no-builtins") && !isHosted(*F.getParent()));
}

void recordHosted(Module &M) { M.getOrInsertNamedMetadata(HostedMetadata); }
bool isHosted(const Module &M) { return M.getNamedMetadata(HostedMetadata); }

unsigned callsWithoutBuiltins(const Module &M) {
  unsigned Calls = 0;
  if (!isHosted(M))
    for (const Function &F : M)
      if (F.hasFnAttribute("no-builtins"))
        for (const Instruction &I : instructions(F))
          if (auto *Call = dyn_cast<CallBase>(&I); Call && allocationFamily(*Call))
            ++Calls;
  return Calls;
}

bool isHostTarget(const Triple &Target) {
  const bool IsHost = Target.getArch() == Triple::x86_64 || Target.getArch() == Triple::aarch64 ||
                      Target.isPPC64() || Target.isRISCV64();
  return IsHost && Target.isOSBinFormatELF() && Target.getEnvironment() != Triple::GNUX32 &&
         Target.getEnvironment() != Triple::GNUILP32 && Target.getEnvironment() != Triple::MuslX32;
}

/// True for OpenMP code of a device, whatever the device's processor is.
static bool isDeviceCode(const Module &M) { return M.getModuleFlag("openmp-device"); }

static bool isSanitized(const Module &M) {
  static constexpr Attribute::AttrKind Kinds[] = {
      Attribute::SanitizeAddress, Attribute::SanitizeThread, Attribute::SanitizeMemory,
      Attribute::SanitizeHWAddress};
  const NamedAttribute Type("sanitize_type");
  return any_of(M, [&](const Function &F) {
    return any_of(Kinds, [&](Attribute::AttrKind K) { return F.hasFnAttribute(K); }) ||
           Type.isOn(F);
  });
}

bool isServed(const Module &M) {
  return isHostTarget(targetTriple(M)) && M.getDataLayout().getPointerSizeInBits() == 64 &&
         !isDeviceCode(M) && !isSanitized(M);
}

bool hasAllocTokens(const Module &M) {
  const NamedAttribute Token("sanitize_alloc_token");
  return any_of(M, [&](const Function &F) { return Token.isOn(F); });
}

} // namespace smalloc
