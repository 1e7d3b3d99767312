//===- MachineProfile.h - the TLB that sites are optimised for --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads the description of the TLB that the page size decisions are made for. It is the preset of
// this processor, a named preset, or a file in the smalloc.machine/1 format. A file that cannot be
// used is an error that names the key; the plugin guesses nothing.
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
  std::string Text;    ///< whole content of the file
  bool Native = false; ///< true: the user asked for the machine that compiles
  uint64_t BasePageBytes = 4096;
  uint64_t SuperpageBytes = 2u << 20;
  uint64_t ReachPages = 0;          ///< base pages that the last TLB level covers
  uint64_t PaperThresholdPages = 0; ///< entries / associativity + 1 (Magee and Qasem, section 4)
  double WalkNearCycles = 30;       ///< page walk that finds its entries in the second-level cache
  double WalkFarCycles = 90;        ///< page walk that goes to memory
  /// Measured walk costs (pages in use, cycles), ascending; empty: only near and far are known.
  llvm::SmallVector<std::pair<double, double>, 8> WalkCurve;
  uint64_t PrefetchMaxStrideBytes = 2048;
  bool PrefetchCrossesPage = true;
  /// Sets of the base page TLB, selected by page number. 1: fully associative, or the selection is
  /// unknown.
  uint64_t Sets = 1;
  uint64_t SuperpageReach = 1024; ///< superpages that the last TLB level covers
  bool SharedReach = false; ///< base pages and superpages compete for the last level's entries

  SpreadTarget target() const {
    return {BasePageBytes, ReachPages,     PrefetchMaxStrideBytes, PrefetchCrossesPage,
            Sets,          SuperpageBytes, SuperpageReach,         SharedReach};
  }
  /// Returns the cycles of one page walk when \p Pages pages are in use. With a measured curve,
  /// interpolates in the logarithm of the pages; the cost is constant beyond the curve's ends.
  /// Without one, interpolates logarithmically between near and far as the page table outgrows the
  /// caches. At 8 bytes an entry, 64 Ki pages fill a 512 KiB cache, and 4 Mi pages are far beyond
  /// it.
  double walkCycles(double Pages) const;
  /// Replaces a native machine if \p M is for another architecture than the compiler's own, whose
  /// TLB says nothing about the target. The machine becomes the preset of the module's processor
  /// (-mcpu=), or "generic".
  void settleFor(const llvm::Module &M);
};

/// Returns the machine that \p Spec names: "native", a preset, a file's path, or the text of a
/// file.
llvm::Expected<MachineProfile> loadMachineProfile(llvm::StringRef Spec);

} // namespace smalloc
#endif
