// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cpuid_tlb.cpp decodes the TLB leaves of AMD and Intel.
#include "runtime/calibrate/cpuid_tlb.h"

#include <algorithm>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace smalloc::calibrate {
namespace {

constexpr uint64_t k4K = 4096, k2M = 2u << 20, k4M = 4u << 20, k1G = 1u << 30;

// Returns the ways for AMD's four-bit code. 6-7 ways are read as 6, as in AMD's own tables.
uint32_t amd_ways(uint32_t code) {
  constexpr uint32_t ways[16] = {0, 1, 2, 3, 4, 6, 8, 0, 16, 0, 32, 48, 64, 96, 128, 0};
  return ways[code & 15];
}

void add(std::vector<CpuidTlb> &list, unsigned level, uint64_t page, uint32_t entries,
         uint32_t ways) {
  if (entries && ways <= entries)
    list.push_back({level, page, entries, ways});
}

void decode_amd(const CpuidReader &cpuid, std::vector<CpuidTlb> &list) {
  const uint32_t last = cpuid(0x80000000, 0).eax;
  // Turin counts second-level entries in units of 32 (8000_0021 EAX bit 14, L2TlbSizeX32).
  const uint32_t unit = last >= 0x80000021 && (cpuid(0x80000021, 0).eax >> 14 & 1) ? 32 : 1;
  const auto first = [&](uint32_t r, uint64_t page) {
    const uint32_t ways = r >> 24;
    add(list, 1, page, r >> 16 & 0xff, ways == 0xff ? 0 : ways);
  };
  const auto second = [&](uint32_t r, uint64_t page, unsigned level, uint32_t scale) {
    if (r >> 28) // 0: disabled
      add(list, level, page, (r >> 16 & 0xfff) * scale, amd_ways(r >> 28));
  };
  if (last >= 0x80000005) {
    const CpuidLeaf leaf = cpuid(0x80000005, 0);
    first(leaf.ebx, k4K);
    first(leaf.eax, k2M);
  }
  if (last >= 0x80000006) {
    const CpuidLeaf leaf = cpuid(0x80000006, 0);
    second(leaf.ebx, k4K, 2, unit);
    second(leaf.eax, k2M, 2, unit);
  }
  if (last >= 0x80000019) {
    const CpuidLeaf leaf = cpuid(0x80000019, 0);
    second(leaf.eax, k1G, 1, 1);
    second(leaf.ebx, k1G, 2, unit);
  }
}

struct Descriptor {
  uint8_t code;
  CpuidTlb tlb;
};
constexpr Descriptor kDescriptors[] = {
    {0x03, {1, k4K, 64, 4}},   {0x04, {1, k4M, 8, 4}},    {0x05, {1, k4M, 32, 4}},
    {0x5b, {1, k4K, 64, 0}},   {0x5c, {1, k4K, 128, 0}},  {0x5d, {1, k4K, 256, 0}},
    {0x63, {1, k2M, 32, 4}},   {0x63, {1, k1G, 4, 4}},    {0x64, {1, k4K, 512, 4}},
    {0x6b, {1, k4K, 256, 8}},  {0x6c, {1, k2M, 128, 8}},  {0x6d, {1, k1G, 16, 0}},
    {0xa0, {1, k4K, 32, 0}},   {0xb3, {1, k4K, 128, 4}},  {0xb4, {1, k4K, 256, 4}},
    {0xba, {1, k4K, 64, 4}},   {0xc0, {1, k4K, 8, 4}},    {0xc1, {2, k4K, 1024, 8}},
    {0xc1, {2, k2M, 1024, 8}}, {0xc2, {1, k4K, 16, 4}},   {0xc2, {1, k2M, 16, 4}},
    {0xc3, {2, k4K, 1536, 6}}, {0xc3, {2, k2M, 1536, 6}}, {0xc3, {2, k1G, 16, 4}},
    {0xc4, {1, k2M, 32, 4}},   {0xca, {2, k4K, 512, 4}},
};

void decode_descriptors(const CpuidReader &cpuid, std::vector<CpuidTlb> &list) {
  const CpuidLeaf leaf = cpuid(2, 0);
  const uint32_t registers[] = {leaf.eax & ~0xffu, leaf.ebx, leaf.ecx, leaf.edx};
  for (uint32_t r : registers)
    for (unsigned shift = 0; shift < 32 && !(r >> 31); shift += 8) // bit 31: no descriptors
      for (const Descriptor &d : kDescriptors)
        if (d.code == (r >> shift & 0xff))
          list.push_back(d.tlb);
}

void decode_intel(const CpuidReader &cpuid, std::vector<CpuidTlb> &list) {
  const uint32_t last = cpuid(0, 0).eax;
  if (last >= 0x18) {
    const uint32_t subleaves = std::min(cpuid(0x18, 0).eax, 64u);
    for (uint32_t i = 0; i <= subleaves; i++) {
      const CpuidLeaf leaf = cpuid(0x18, i);
      const uint32_t type = leaf.edx & 31; // 1 data, 3 unified, 4 loads only
      if (type != 1 && type != 3 && type != 4)
        continue;
      const unsigned level = leaf.edx >> 5 & 7;
      const uint32_t ways = leaf.ebx >> 16, sets = leaf.ecx;
      const uint32_t shown_ways = leaf.edx >> 8 & 1 ? 0 : ways;
      const uint64_t pages[] = {k4K, k2M, k4M, k1G};
      for (unsigned bit = 0; bit < 4; bit++)
        if (leaf.ebx >> bit & 1 && !(bit == 2 && leaf.ebx >> 1 & 1))
          add(list, level, pages[bit], ways * sets, shown_ways);
    }
  }
  if (list.empty() && last >= 2)
    decode_descriptors(cpuid, list);
}

// Adds up two arrays of a level that hold the same page size (Ice Lake's banks).
std::vector<CpuidTlb> joined(std::vector<CpuidTlb> list) {
  std::vector<CpuidTlb> result;
  for (const CpuidTlb &tlb : list) {
    const auto same = std::find_if(result.begin(), result.end(), [&](const CpuidTlb &other) {
      return other.level == tlb.level && other.page_bytes == tlb.page_bytes;
    });
    if (same == result.end())
      result.push_back(tlb);
    else
      same->entries += tlb.entries;
  }
  std::stable_sort(result.begin(), result.end(), [](const CpuidTlb &a, const CpuidTlb &b) {
    return std::pair(a.level, a.page_bytes) < std::pair(b.level, b.page_bytes);
  });
  return result;
}

} // namespace

std::vector<CpuidTlb> decode_cpuid_tlbs(const CpuidReader &cpuid) {
  std::vector<CpuidTlb> list;
  const uint32_t vendor = cpuid(0, 0).ebx;
  if (vendor == 0x68747541 || vendor == 0x6f677948) // "Auth", "Hygo"
    decode_amd(cpuid, list);
  else if (vendor == 0x756e6547) // "Genu"
    decode_intel(cpuid, list);
  return joined(std::move(list));
}

CpuidReader native_cpuid() {
#if defined(__x86_64__)
  return [](uint32_t leaf, uint32_t subleaf) {
    CpuidLeaf r;
    if (!__get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx))
      return CpuidLeaf{};
    return r;
  };
#else
  return [](uint32_t, uint32_t) { return CpuidLeaf{}; };
#endif
}

} // namespace smalloc::calibrate
