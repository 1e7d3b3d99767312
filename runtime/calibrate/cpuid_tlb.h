// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cpuid_tlb.h decodes what CPUID reports about the data TLBs. AMD: leaves 8000_0005, 8000_0006 and
// 8000_0019 (AMD manual 3, appendix E). Intel: leaf 18h and the descriptors of leaf 2 (Intel manual
// 2A, CPUID). CPUID is the least trusted source: hypervisors invent values, and Golden Cove reports
// 64 entries but has 96.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace smalloc::calibrate {

struct CpuidLeaf {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};
// Returns the registers for a leaf and subleaf; all are zero if it does not exist.
using CpuidReader = std::function<CpuidLeaf(uint32_t leaf, uint32_t subleaf)>;

struct CpuidTlb {
  unsigned level = 1;
  uint64_t page_bytes = 0;
  uint32_t entries = 0;
  uint32_t ways = 0; // 0: fully associative
};

// Returns the data TLBs that CPUID describes, each with level and page size. Skips encodings that
// decode to no entries.
std::vector<CpuidTlb> decode_cpuid_tlbs(const CpuidReader &cpuid);

// Returns a reader for this processor. It returns zeros on processors without CPUID.
CpuidReader native_cpuid();

} // namespace smalloc::calibrate
