//===- MachineProfile.h - whose TLB the compiler decides for ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which TLB the verdicts are for: the preset of this processor, a named preset, or a file in the
// smalloc.machine/1 format. A file that cannot be used is an error that names the key; nothing is guessed.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_MACHINEPROFILE_H
#define SMALLOC_PASSES_MACHINEPROFILE_H

#include "PageSpread.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace smalloc {

struct MachineProfile {
  std::string Name;
  bool FromFile = false;
  uint64_t BasePageBytes = 4096;
  uint64_t SuperpageBytes = 2u << 20;
  uint64_t ReachPages = 0;          ///< base pages that the last level covers
  uint64_t PaperThresholdPages = 0; ///< entries / associativity + 1 (Magee and Qasem, section 4)
  double WalkNearCycles = 30;       ///< page walk whose entries are in the second-level cache
  double WalkFarCycles = 90;        ///< page walk that goes to memory
  uint64_t PrefetchMaxStrideBytes = 2048;

  SpreadTarget target() const { return {BasePageBytes, ReachPages, PrefetchMaxStrideBytes}; }
  /// Cost of one walk when \p Pages pages are in use: between near and far as the page table outgrows the caches
  /// (8 bytes an entry; 64 Ki pages fill a 512 KiB cache, 4 Mi pages are far beyond it), logarithmic in between.
  double walkCycles(double Pages) const;
};

/// \p Spec: "native", a preset's name, or a file's path.
llvm::Expected<MachineProfile> loadMachineProfile(llvm::StringRef Spec);

} // namespace smalloc
#endif
