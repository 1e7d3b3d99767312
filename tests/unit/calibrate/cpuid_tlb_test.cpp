// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cpuid_tlb_test.cpp tests the decoding of CPUID dumps of real machines. Invented values are
// decoded as they are.
#include "runtime/calibrate/cpuid_tlb.h"

#include <map>

#include <gtest/gtest.h>

namespace smalloc::calibrate {
namespace {

constexpr uint64_t k4K = 4096, k2M = 2u << 20, k1G = 1u << 30;
constexpr CpuidLeaf kAmd{0x1c, 0x68747541, 0x444d4163, 0x69746e65};
CpuidLeaf intel(uint32_t last) { return {last, 0x756e6547, 0x6c65746e, 0x49656e69}; }

using Dump = std::map<std::pair<uint32_t, uint32_t>, CpuidLeaf>;

std::vector<CpuidTlb> decode(const Dump &dump) {
  return decode_cpuid_tlbs([&](uint32_t leaf, uint32_t subleaf) {
    const auto found = dump.find({leaf, subleaf});
    return found == dump.end() ? CpuidLeaf{} : found->second;
  });
}

CpuidTlb find(const std::vector<CpuidTlb> &list, unsigned level, uint64_t page) {
  for (const CpuidTlb &tlb : list)
    if (tlb.level == level && tlb.page_bytes == page)
      return tlb;
  return {};
}

// A Zen 4 guest; its hypervisor clears the leaf of the 1 GiB pages.
const Dump kZen4Guest = {{{0, 0}, kAmd},
                         {{0x80000000, 0}, {0x80000021, 0, 0, 0}},
                         {{0x80000005, 0}, {0xff48ff40, 0xff48ff40, 0x20080140, 0x20080140}},
                         {{0x80000006, 0}, {0x5c002200, 0x6c004200, 0x4006140, 0xa009140}},
                         {{0x80000019, 0}, {0, 0, 0, 0}},
                         {{0x80000021, 0}, {0x204, 0, 0x86, 0}}};

TEST(CpuidTlb, DecodesAZen4Guest) {
  const auto list = decode(kZen4Guest);
  EXPECT_EQ(find(list, 1, k4K).entries, 72u);
  EXPECT_EQ(find(list, 1, k4K).ways, 0u); // fully associative
  EXPECT_EQ(find(list, 2, k4K).entries, 3072u);
  EXPECT_EQ(find(list, 2, k4K).ways, 8u);
  EXPECT_EQ(find(list, 2, k2M).entries, 3072u);
  EXPECT_EQ(find(list, 2, k2M).ways, 6u);
  EXPECT_EQ(find(list, 2, k1G).entries, 0u);
  EXPECT_EQ(list.size(), 4u);
}

// Zen 5 counts in units of 32 if 8000_0021 EAX bit 14 is set: raw 128 means 4096.
TEST(CpuidTlb, ScalesTurinsSecondLevel) {
  Dump turin = kZen4Guest;
  turin[{0x80000006, 0}] = {0x80802200, 0x80804200, 0, 0};
  turin[{0x80000019, 0}] = {0xf0600000, 0x80200000, 0, 0};
  turin[{0x80000021, 0}].eax |= 1u << 14;
  auto list = decode(turin);
  EXPECT_EQ(find(list, 2, k4K).entries, 4096u);
  EXPECT_EQ(find(list, 2, k4K).ways, 16u);
  EXPECT_EQ(find(list, 1, k1G).entries, 96u);
  EXPECT_EQ(find(list, 1, k1G).ways, 0u);
  EXPECT_EQ(find(list, 2, k1G).entries, 1024u);
  turin[{0x80000021, 0}].eax = 0;
  EXPECT_EQ(find(decode(turin), 2, k4K).entries, 128u);
}

// Golden Cove, leaf 18h: 64 entries for loads (the core has 96), two banks of 1024 at the second
// level.
TEST(CpuidTlb, JoinsTheBanksOfGoldenCove) {
  const auto list = decode({{{0, 0}, intel(0x20)},
                            {{0x18, 0}, {8, 0, 0, 0}},
                            {{0x18, 2}, {0, 0x00040001, 16, 0x24}},   // loads, 4 KiB
                            {{0x18, 3}, {0, 0x00040006, 8, 0x24}},    // loads, 2 and 4 MiB
                            {{0x18, 4}, {0, 0x00080008, 1, 0x124}},   // loads, 1 GiB
                            {{0x18, 5}, {0, 0x00100001, 1, 0x125}},   // stores: not counted
                            {{0x18, 6}, {0, 0x00080007, 128, 0x43}},  // 4 KiB, 2 MiB, 4 MiB
                            {{0x18, 7}, {0, 0x00080009, 128, 0x43}},  // 4 KiB, 1 GiB
                            {{0x18, 8}, {0, 0x00080007, 32, 0x22}}}); // instructions
  EXPECT_EQ(find(list, 1, k4K).entries, 64u);
  EXPECT_EQ(find(list, 1, k4K).ways, 4u);
  EXPECT_EQ(find(list, 1, k2M).entries, 32u);
  EXPECT_EQ(find(list, 1, k1G).ways, 0u);
  EXPECT_EQ(find(list, 2, k4K).entries, 2048u);
  EXPECT_EQ(find(list, 2, k2M).entries, 1024u);
  EXPECT_EQ(find(list, 2, k1G).entries, 1024u);
}

TEST(CpuidTlb, ReadsTheDescriptorsOfCore2AndSkylake) {
  const auto core2 =
      decode({{{0, 0}, intel(0x0a)}, {{2, 0}, {0x05b0b101, 0x005657f0, 0, 0x2cb43049}}});
  EXPECT_EQ(find(core2, 1, k4K).entries, 256u); // Magee and Qasem's machine
  EXPECT_EQ(find(core2, 1, k4K).ways, 4u);
  const auto skylake =
      decode({{{0, 0}, intel(0x16)}, {{2, 0}, {0x76036301, 0x00f0b5ff, 0, 0x00c30000}}});
  EXPECT_EQ(find(skylake, 1, k4K).entries, 64u);
  EXPECT_EQ(find(skylake, 1, k2M).entries, 32u);
  EXPECT_EQ(find(skylake, 2, k4K).entries, 1536u);
  // Bit 31 of a register: it has no descriptors.
  EXPECT_TRUE(decode({{{0, 0}, intel(2)}, {{2, 0}, {1, 0x80b40000, 0, 0}}}).empty());
}

TEST(CpuidTlb, TakesALieAsItStands) { // QEMU's default model
  const auto list = decode({{{0, 0}, kAmd},
                            {{0x80000000, 0}, {0x8000000a, 0, 0, 0}},
                            {{0x80000005, 0}, {0x01ff01ff, 0x01ff01ff, 0, 0}},
                            {{0x80000006, 0}, {0, 0x42004200, 0, 0}}});
  EXPECT_EQ(find(list, 1, k4K).entries, 255u);
  EXPECT_EQ(find(list, 1, k4K).ways, 1u);
  EXPECT_EQ(find(list, 2, k4K).entries, 512u);
  EXPECT_EQ(find(list, 2, k4K).ways, 4u);
  EXPECT_EQ(find(list, 2, k2M).entries, 0u);
}

TEST(CpuidTlb, KnowsNothingOfOtherVendorsAndOfEndlessLeaves) {
  EXPECT_TRUE(decode({}).empty());
  EXPECT_TRUE(decode({{{0, 0}, {2, 0x11111111, 0, 0}}, {{2, 0}, {0xb4, 0, 0, 0}}}).empty());
  EXPECT_TRUE(decode({{{0, 0}, intel(0x18)}, {{0x18, 0}, {0xffffffff, 0, 0, 0}}}).empty());
}

} // namespace
} // namespace smalloc::calibrate
