// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cpuid_tlb.h decides what CPUID says of the data TLBs: AMD's leaves 8000_0005, 8000_0006 and
// 8000_0019 (AMD manual 3, appendix E), Intel's leaf 18h and the descriptors of leaf 2 (Intel
// manual 2A, CPUID). It is the least trusted source: hypervisors invent values, Golden Cove reports
// 64 entries and has 96.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace smalloc::calibrate {

struct CpuidLeaf {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};
// Answers leaf and subleaf; all zero where there is none.
using CpuidReader = std::function<CpuidLeaf(uint32_t leaf, uint32_t subleaf)>;

struct CpuidTlb {
  unsigned level = 1;
  uint64_t page_bytes = 0;
  uint32_t entries = 0;
  uint32_t ways = 0; // 0: fully associative
};

// Data TLBs, by level and page size. Entries that decode to nothing are left out.
std::vector<CpuidTlb> decode_cpuid_tlbs(const CpuidReader &cpuid);

// This processor; empty answers where there is no CPUID.
CpuidReader native_cpuid();

} // namespace smalloc::calibrate
