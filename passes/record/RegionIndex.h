//===- RegionIndex.h - regions that follow from an index ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds addresses at an index from a base that is known before the loop. For these, the index alone
// leads to the byte of their region in the library's table (smalloc/access.h,
// smalloc_gate::regions).
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_REGIONINDEX_H
#define SMALLOC_PASSES_REGIONINDEX_H

#include <cstdint>
#include <optional>

namespace llvm {
class DataLayout;
class Value;
} // namespace llvm

namespace smalloc {

class LoopVersion;

/// The address is Base + Offset + (Index << Shift).
struct RegionIndex {
  llvm::Value *Base = nullptr, *Index = nullptr;
  int64_t Offset = 0;
  unsigned Shift = 0; ///< at most SMALLOC_REGION_SHIFT
};

/// Returns the region index of \p Pointer, which must be in the copy of a loop with unsplit blocks.
/// The offset must not wrap: then it stays in the same object.
std::optional<RegionIndex> regionIndex(llvm::Value *Pointer, const LoopVersion &V,
                                       const llvm::DataLayout &DL);

} // namespace smalloc
#endif
