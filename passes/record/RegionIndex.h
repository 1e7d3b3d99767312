//===- RegionIndex.h - accesses whose region their index tells --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which addresses are an index away from something that is known before the loop, so that the index alone leads to the byte of
// their region in the library's table (smalloc/access.h, smalloc_gate::regions).
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

/// Of a pointer in the copy of a loop whose blocks are still whole. The offset may not wrap: it leads to no other object.
std::optional<RegionIndex> regionIndex(llvm::Value *Pointer, const LoopVersion &V,
                                       const llvm::DataLayout &DL);

} // namespace smalloc
#endif
