//===- MachineProfile.h - whose TLB the compiler decides for ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which TLB the verdicts are for: the preset of this processor, a named preset, or a file in the
// smalloc.machine/1 format. A file that cannot be used is an error that names the key; nothing is guessed.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_MACHINEPROFILE_H
#define SMALLOC_PASSES_MACHINEPROFILE_H

#include "passes/spread/NestSpread.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <utility>

namespace llvm {
class Module;
}

namespace smalloc {

struct MachineProfile {
  std::string Name;
  bool FromFile = false;
  std::string Text;    ///< of the file, all of it
  bool Native = false; ///< asked for as the machine that compiles
  uint64_t BasePageBytes = 4096;
  uint64_t SuperpageBytes = 2u << 20;
  uint64_t ReachPages = 0;          ///< base pages that the last level covers
  uint64_t PaperThresholdPages = 0; ///< entries / associativity + 1 (Magee and Qasem, section 4)
  double WalkNearCycles = 30;       ///< page walk whose entries are in the second-level cache
  double WalkFarCycles = 90;        ///< page walk that goes to memory
  /// Measured walk costs by pages in use, ascending; empty: only near and far are known.
  llvm::SmallVector<std::pair<double, double>, 8> WalkCurve;
  uint64_t PrefetchMaxStrideBytes = 2048;
  bool PrefetchCrossesPage = true;
  uint64_t Sets =
      1; ///< of base pages, chosen by the page number; 1: fully associative, or how it chooses is unknown
  uint64_t SuperpageReach = 1024; ///< superpages that the last level covers
  bool SharedReach = false; ///< base pages and superpages compete for the last level's entries

  SpreadTarget target() const {
    return {BasePageBytes, ReachPages,     PrefetchMaxStrideBytes, PrefetchCrossesPage,
            Sets,          SuperpageBytes, SuperpageReach,         SharedReach};
  }
  /// Cost of one walk when \p Pages pages are in use. With a measured curve: interpolated in the logarithm of the
  /// pages, constant beyond its ends. Otherwise between near and far as the page table outgrows the caches
  /// (8 bytes an entry; 64 Ki pages fill a 512 KiB cache, 4 Mi pages are far beyond it), logarithmic in between.
  double walkCycles(double Pages) const;
  /// When a module is for another architecture than the compiler's own, the native machine becomes the preset of
  /// the module's processor (-mcpu=), or "generic": this compiler's TLB says nothing of it.
  void settleFor(const llvm::Module &M);
};

/// \p Spec: "native", a preset's name, a file's path, or the text of one.
llvm::Expected<MachineProfile> loadMachineProfile(llvm::StringRef Spec);

} // namespace smalloc
#endif
