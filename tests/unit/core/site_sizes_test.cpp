// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which sizes may be ours without costing memory: costs beside glibc's own, sizes that vary, drift, and settle.
#include "smalloc/core/site_sizes.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <malloc.h>
#include <random>
#include <vector>

namespace smalloc {
namespace {
struct SiteSizesTest : testing::Test {
  bool take(const smalloc_cell *site, size_t bytes, const void *thread = nullptr) {
    return sizes.sample(site, bytes, SiteSizes::kSampleBytes, thread ? thread : this);
  }
  template <class Size> void ask(unsigned times, Size size) {
    for (unsigned i = 0; i < times; i++)
      if (take(&cell, size()))
        known_before = sizes.sizes_before(&cell, before);
  }
  smalloc_cell cell = {};
  SiteSizes sizes;
  size_t before[SiteSizes::kBefore] = {};
  unsigned known_before = 0;
  std::mt19937 random{1};
};

TEST(SlotBytes, AreJemallocs) {
  const size_t classes[] = {16,   32,   48,   64,   80,   96,    112,   128,  160,
                            192,  224,  256,  320,  384,  448,   512,   640,  768,
                            896,  1024, 1280, 1536, 1792, 2048,  2560,  3072, 3584,
                            4096, 5120, 6144, 7168, 8192, 10240, 12288, 14336};
  size_t bytes = 0;
  for (size_t slot : classes)
    for (; bytes <= slot; bytes++)
      ASSERT_EQ(slot_bytes(bytes), slot) << bytes;
}
TEST(Costs, GlibcsAreWhatItTakes) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "another malloc";
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "another malloc";
#endif
#endif
  for (size_t bytes : {1, 24, 25, 40, 100, 1000, 1040, 3072, 16384, 100000}) {
    void *p = malloc(bytes);
    size_t chunk = malloc_usable_size(p) + 8; // one that was used before may be 16 bytes more
    EXPECT_GE(chunk, glibc_cost_bytes(bytes) / kCostObjects) << bytes;
    EXPECT_LE(chunk, glibc_cost_bytes(bytes) / kCostObjects + 16) << bytes;
    EXPECT_GE(malloc_usable_size(p), glibc_place_bytes(bytes)) << bytes;
    EXPECT_LE(malloc_usable_size(p), glibc_place_bytes(bytes) + 16) << bytes;
    free(p);
  }
  EXPECT_EQ(glibc_cost_bytes(size_t{1} << 20) / kCostObjects, (size_t{1} << 20) + kBasePageBytes);
}
TEST(Costs, OursHoldSlotAndMetadata) {
  EXPECT_EQ(slab_pages(16), 2u); // 512 slots
  EXPECT_EQ(slab_pages(64), 8u);
  EXPECT_EQ(slab_pages(160), 5u);
  EXPECT_EQ(slab_pages(256), 4u);
  EXPECT_EQ(slab_pages(1024), 4u);
  EXPECT_EQ(slab_pages(4096), 2u);
  EXPECT_LE(our_cost_bytes(1024), glibc_cost_bytes(1024));
  EXPECT_EQ(our_cost_bytes(64), (8 * 4104 + 128) * 64u / 512);
  EXPECT_EQ(our_cost_bytes(1040), (5 * 4104 + 128) * 64u / 16);
  EXPECT_GE(our_cost_bytes(16384), (5 * kBasePageBytes + 128) * kCostObjects);
}
TEST_F(SiteSizesTest, NobodyKnowsAtFirst) {
  EXPECT_FALSE(sizes.pays(&cell, Asks::kForOneSize));
  ask(1, [] { return 64; });
  EXPECT_FALSE(sizes.pays(&cell, Asks::kForOneSize));
  ask(1, [] { return 64; });
  EXPECT_TRUE(sizes.pays(&cell, Asks::kForOneSize));
  smalloc_cell other = {};
  EXPECT_FALSE(sizes.pays(&other, Asks::kForOneSize));
}
TEST_F(SiteSizesTest, OneStructurePaysWhereItFillsItsSlot) {
  for (size_t bytes : {16, 24, 40, 48, 56, 128, 192, 512, 1024, 3072, 4096, 1 << 20}) {
    ask(SiteSizes::kSamples, [&] { return bytes; });
    EXPECT_TRUE(sizes.pays(&cell, Asks::kForOneSize)) << bytes;
  }
  for (size_t bytes : {136, 264, 1040, 2100, 16384, 40000}) {
    ask(SiteSizes::kSamples, [&] { return bytes; });
    EXPECT_FALSE(sizes.pays(&cell, Asks::kForOneSize)) << bytes;
  }
}
TEST_F(SiteSizesTest, WhereAnySizeMayFollowMuchMustBeSaved) {
  for (size_t bytes : {16, 28, 44, 48}) { // glibc: 32, 48, 64, 64; and 32 for the other
    SiteSizes of_two;
    for (unsigned i = 0; i < SiteSizes::kLeastHistory; i++)
      of_two.sample(&cell, i % 3 ? bytes : 8, SiteSizes::kSampleBytes, this);
    EXPECT_TRUE(of_two.pays(&cell, Asks::kForAnySize)) << bytes;
  }
  for (size_t bytes : {24, 40, 56, 64, 112, 176, 512, 1024}) {
    ask(SiteSizes::kSamples, [&] { return bytes; });
    EXPECT_TRUE(sizes.pays(&cell, Asks::kForOneSize)) << bytes;
    EXPECT_FALSE(sizes.pays(&cell, Asks::kForAnySize)) << bytes;
  }
}
TEST(Asks, TheDescriptorSaysWhetherAnySizeMayFollow) {
  struct {
    smalloc_site site;
    smalloc_cell cell;
  } at = {};
  EXPECT_EQ(asks_for(&at.cell), Asks::kForOneSize); // no descriptor
  at.cell.site_offset = reinterpret_cast<char *>(&at.site) - reinterpret_cast<char *>(&at.cell);
  at.site.flags = SMALLOC_SITE_ANY_SIZE;
  EXPECT_EQ(asks_for(&at.cell), Asks::kForOneSize); // is none
  at.site.magic = SMALLOC_SITE_MAGIC;
  EXPECT_EQ(asks_for(&at.cell), Asks::kForAnySize);
  at.site.flags = SMALLOC_SITE_SMALL;
  EXPECT_EQ(asks_for(&at.cell), Asks::kForOneSize);
}
TEST_F(SiteSizesTest, AFewSizesPayMoreDoNot) {
  ask(SiteSizes::kSamples, [&] { return 16 + random() % 112; });
  EXPECT_FALSE(sizes.pays(&cell, Asks::kForOneSize));
  ask(SiteSizes::kSamples, [&] { return 24u << random() % 3; });
  EXPECT_TRUE(sizes.pays(&cell, Asks::kForOneSize));
  ask(SiteSizes::kSamples, [&] { return 128u << random() % 7; }); // every slot filled
  EXPECT_FALSE(sizes.pays(&cell, Asks::kForOneSize));
  ask(SiteSizes::kSamples, [&] { return 256u << random() % 3; });
  EXPECT_TRUE(sizes.pays(&cell, Asks::kForOneSize));
}
TEST_F(SiteSizesTest,
       ListsThatDoublePayFromAFewBytesOn) { // 16 ... 128 bytes; glibc: 32, 48, 80, 144
  ask(SiteSizes::kLeastHistory - 1, [&] { return 16u << random() % 4; });
  EXPECT_FALSE(sizes.pays(&cell, Asks::kForAnySize)); // not known for long enough
  ask(1, [] { return 16; });
  EXPECT_TRUE(sizes.pays(&cell, Asks::kForAnySize));
  ask(SiteSizes::kSamples, [&] { return 16u << random() % 7; }); // most classes are larger
  EXPECT_FALSE(sizes.pays(&cell, Asks::kForAnySize));
}
TEST_F(SiteSizesTest, WhatDoublesInTurnsDoesNotPay) { // each size as often as the one before
  unsigned n = 0;
  for (unsigned vectors : {100, 500, 3000}) {
    smalloc_cell own = {};
    const uint64_t per_size = vectors * 16000ull / SiteSizes::kSampleBytes;
    for (size_t bytes = 16; bytes <= 128; bytes *= 2)
      for (uint64_t i = 0; i < per_size * bytes / 16; i++)
        if (take(&own, bytes))
          n += sizes.pays(&own, Asks::kForAnySize);
  }
  EXPECT_EQ(n, 0u);
}
TEST_F(SiteSizesTest, WhatGrowsByReallocNeedNotHaveComeAgain) {
  ask(SiteSizes::kSamples, [&] { return 16u << random() % 4; });
  EXPECT_FALSE(sizes.pays(&cell, Asks::kForAnySize));
  sizes.grew(&cell);
  EXPECT_TRUE(sizes.pays(&cell, Asks::kForAnySize));
  for (unsigned i = 0; i < SiteSizes::kSamples; i++) // but not mostly
    sizes.grew(&cell);
  EXPECT_FALSE(sizes.pays(&cell, Asks::kForAnySize));
}
TEST_F(SiteSizesTest, OneSizeAloneSaysNothingOfWhatFollows) {
  ask(4 * SiteSizes::kLeastHistory, [] { return 48; });
  EXPECT_FALSE(sizes.pays(&cell, Asks::kForAnySize));
  EXPECT_TRUE(sizes.pays(&cell, Asks::kForOneSize));
}
TEST_F(SiteSizesTest, SizesThatFollowAreNoticedBeforeHalfOfThemAreSeen) {
  ask(SiteSizes::kLeastHistory, [&] { return random() % 2 ? 16 : 8; });
  EXPECT_TRUE(sizes.pays(&cell, Asks::kForAnySize));
  ask(SiteSizes::kSamples / 2 + 1, [] { return 32; });
  EXPECT_FALSE(sizes.pays(&cell, Asks::kForAnySize));
  ask(SiteSizes::kSamples, [&] { return random() % 2 ? 16 : 8; }); // and came back
  EXPECT_TRUE(sizes.pays(&cell, Asks::kForAnySize));
}
TEST_F(SiteSizesTest, AFewOthersDoNotMatterADriftDoes) {
  unsigned n = 0;
  ask(64, [&] { return n++ % 16 ? 512 : 1024 + n * 8; });
  EXPECT_TRUE(sizes.pays(&cell, Asks::kForOneSize));
  ask(SiteSizes::kSamples / 2, [&] { return 300 + random() % 3000; });
  EXPECT_FALSE(sizes.pays(&cell, Asks::kForOneSize));
  ask(SiteSizes::kSamples, [&] { return 64; }); // and settles
  EXPECT_TRUE(sizes.pays(&cell, Asks::kForOneSize));
}
TEST_F(SiteSizesTest, SitesAreKnownApartUntilThereIsNoRoom) {
  std::vector<smalloc_cell> cells(SiteSizes::kSites + 10);
  for (size_t i = 0; i < cells.size(); i++)
    for (int k = 0; k < 4; k++)
      take(&cells[i], i % 2 ? 64 : 16384);
  unsigned known = 0;
  for (size_t i = 0; i < cells.size(); i++) {
    known += i % 2 ? sizes.pays(&cells[i], Asks::kForOneSize) : 0;
    if (i % 2 == 0) {
      EXPECT_FALSE(sizes.pays(&cells[i], Asks::kForOneSize));
    }
  }
  EXPECT_EQ(known, SiteSizes::kSites / 2);
}
TEST_F(SiteSizesTest, TheHeapsFirstEndIsKeptUntilTheSiteIsLeft) {
  sizes.began(&cell, 4096); // nobody has sampled it
  sizes.left(&cell, {4096, 1});
  EXPECT_EQ(sizes.heap_then(&cell).end, 0u);
  ask(1, [] { return 64; });
  EXPECT_EQ(sizes.heap_then(&cell).end, 0u);
  sizes.began(&cell, 8192);
  sizes.began(&cell, 12288);
  EXPECT_EQ(sizes.heap_then(&cell).end, 8192u);
  EXPECT_EQ(sizes.heap_then(&cell).requested, 0u);
  sizes.left(&cell, {16384, 100});
  EXPECT_EQ(sizes.heap_then(&cell).end, 16384u);
  EXPECT_EQ(sizes.heap_then(&cell).requested, 100u);
}
TEST_F(SiteSizesTest, GrowthIsCountedWhenItIsASample) {
  uint64_t counted = 0;
  for (int i = 1; i <= 1000; i++) { // 128 resizes by 8 bytes
    const uint64_t now = sizes.grown_by(&cell, 1024);
    EXPECT_EQ(now, i % 64 ? 0 : SiteSizes::kSampleBytes);
    counted += now;
  }
  EXPECT_EQ(counted, 15 * SiteSizes::kSampleBytes);
  EXPECT_EQ(sizes.grown_by(&cell, 5 * SiteSizes::kSampleBytes), 5 * SiteSizes::kSampleBytes);
  std::vector<smalloc_cell> others(SiteSizes::kSites);
  for (smalloc_cell &other : others)
    sizes.grown_by(&other, 1);
  EXPECT_EQ(sizes.grown_by(&others.back(), SiteSizes::kSampleBytes), 0u); // no room
}
TEST_F(SiteSizesTest, WhoFillsHolesIsRemembered) {
  sizes.set_filling(&cell, true); // nobody has sampled it
  EXPECT_FALSE(sizes.is_filling(&cell));
  ask(1, [] { return 64; });
  EXPECT_FALSE(sizes.is_filling(&cell));
  sizes.set_filling(&cell, true);
  EXPECT_TRUE(sizes.is_filling(&cell));
  sizes.set_filling(&cell, false);
  EXPECT_FALSE(sizes.is_filling(&cell));
}
TEST_F(SiteSizesTest, SizesOfWhichItAskedBeforeAreKnown) {
  EXPECT_EQ(sizes.sizes_before(&cell, before), 0u); // unknown
  ask(200, [] { return 104; });
  EXPECT_EQ(known_before, 0u);
  ask(24, [] { return 176; }); // most, but a quarter is still of the old size
  EXPECT_EQ(known_before, 0u);
  ask(8, [] { return 176; });
  ASSERT_EQ(known_before, 1u);
  EXPECT_EQ(before[0], 112u); // the slot
  ask(200, [] { return 104; });
  ASSERT_EQ(known_before, 1u);
  EXPECT_EQ(before[0], 192u);
  for (size_t bytes : {40, 300, 1000, 2000})
    ask(64, [&] { return bytes; });
  ASSERT_EQ(known_before, SiteSizes::kBefore - 1); // the latest
  EXPECT_EQ(before[0], 1024u);
  EXPECT_EQ(before[1], 320u);
  EXPECT_EQ(before[2], 48u);
}
TEST_F(SiteSizesTest, ASteadyMixtureHasNoSizesBefore) {
  const size_t mixture[] = {48, 256, 256, 1024, 1024, 1024, 1024};
  for (int i = 0; i < 500; i++) {
    ask(SiteSizes::kSamplesPerLook, [&] { return mixture[random() % 7]; });
    ASSERT_EQ(known_before, 0u) << i;
  }
  ask(4000, [&] { return 16 + random() % 112; }); // no size of its own
  EXPECT_NE(std::find(before, before + known_before, 1024u), before + known_before);
}
TEST_F(SiteSizesTest, WhatAlternatesDoesNotPayForGood) {
  ask(SiteSizes::kSamples, [] { return 64; });
  smalloc_cell other = {};
  sizes.set_alternates(&other); // unknown
  EXPECT_TRUE(sizes.pays(&cell, Asks::kForOneSize));
  sizes.set_alternates(&cell);
  EXPECT_FALSE(sizes.pays(&cell, Asks::kForOneSize));
  ask(10 * SiteSizes::kSamples, [] { return 64; });
  EXPECT_FALSE(sizes.pays(&cell, Asks::kForOneSize));
}
TEST_F(SiteSizesTest, SitesThatTakeTurnsDoNotPayForGood) {
  constexpr uint64_t kMiB = 1 << 20;
  smalloc_cell other = {}, third = {};
  const size_t of_cell[] = {64}, of_both[] = {64, 192};
  auto asks = [&](smalloc_cell *who, size_t bytes, unsigned times = 64) {
    for (unsigned i = 0; i < times; i++)
      take(who, bytes);
    sizes.sizes_before(who, before); // a look
  };
  asks(&cell, 64);
  asks(&third, 96);
  asks(&other, 176);
  sizes.asks_beside(&other, of_cell, 1, 100 * kMiB); // what it has grown from is not known
  sizes.asks_beside(&other, nullptr, 0, 64 * kMiB);
  sizes.asks_beside(&other, of_cell, 1, 66 * kMiB - 1); // a thirty-second
  sizes.asks_beside(&other, of_both, 2, 80 * kMiB);     // fills its own
  EXPECT_TRUE(sizes.pays(&other, Asks::kForOneSize));
  asks(&cell, 64, 1); // goes on asking
  asks(&other, 176, SiteSizes::kSamplesPerLook * (SiteSizes::kSilentLooks - 1));
  sizes.asks_beside(&other, of_cell, 1, 80 * kMiB);
  EXPECT_TRUE(sizes.pays(&other, Asks::kForOneSize));
  asks(&other, 176, SiteSizes::kSamplesPerLook);
  sizes.asks_beside(&other, of_cell, 1, 66 * kMiB);
  EXPECT_FALSE(sizes.pays(&cell, Asks::kForOneSize));
  EXPECT_FALSE(sizes.pays(&other, Asks::kForOneSize));
  EXPECT_TRUE(sizes.pays(&third, Asks::kForOneSize));
}
TEST_F(SiteSizesTest, WhatMostlyGrowsDoesNotPay) {
  for (unsigned i = 0; i < 2 * SiteSizes::kSamples; i++) {
    take(&cell, 64);
    if (i % 4 == 0)
      sizes.grew(&cell);
  }
  EXPECT_TRUE(sizes.pays(&cell, Asks::kForOneSize));
  for (unsigned i = 0; i < 2 * SiteSizes::kSamples; i++) {
    take(&cell, 64);
    sizes.grew(&cell);
  }
  EXPECT_FALSE(sizes.pays(&cell, Asks::kForOneSize));
}
TEST_F(SiteSizesTest, AsManyObjectsOfAnotherClassAreSiblings) {
  smalloc_cell key = {}, value = {}, entry = {}, rare = {};
  // 64 KiB at a time, as the requests of 40, 100 and 24 bytes come one after the other.
  uint64_t taken[3] = {};
  const size_t bytes[3] = {40, 100, 24};
  smalloc_cell *cells[3] = {&key, &value, &entry};
  for (unsigned i = 0; i < 30000; i++)
    for (unsigned k = 0; k < 3; k++, taken[k - 1] += bytes[k - 1])
      if (SiteSizes::is_sample(taken[k], taken[k] + bytes[k]))
        take(cells[k], bytes[k]);
  for (smalloc_cell *c : cells)
    EXPECT_TRUE(sizes.has_sibling(c));
  for (unsigned i = 0; i < 8; i++)
    take(&rare, 40); // 13,107 objects
  EXPECT_FALSE(sizes.has_sibling(&rare));
  EXPECT_FALSE(sizes.has_sibling(&cell)); // unknown
}
TEST_F(SiteSizesTest, ObjectsOfOneClassLieTogetherAnyway) {
  smalloc_cell left = {}, right = {};
  for (unsigned i = 0; i < 64; i++) {
    take(&left, 56);
    take(&right, 64);
  }
  EXPECT_FALSE(sizes.has_sibling(&left));
}
TEST_F(SiteSizesTest, ASecondThreadMakesASiteShared) {
  smalloc_cell other = {};
  int thread;
  for (int i = 0; i < 3; i++)
    take(&cell, 64);
  EXPECT_FALSE(sizes.is_shared(&cell));
  EXPECT_FALSE(sizes.is_shared(&other)); // unknown
  take(&other, 64, &thread);
  EXPECT_FALSE(sizes.is_shared(&other)); // its only one
  take(&cell, 64, &thread);
  EXPECT_TRUE(sizes.is_shared(&cell));
  take(&cell, 64);
  EXPECT_TRUE(sizes.is_shared(&cell));
}
TEST_F(SiteSizesTest, SamplesThatLieCloserStandForFewerObjects) {
  smalloc_cell often = {};
  for (unsigned i = 0; i < 32; i++) {
    take(&cell, 64);
    for (unsigned k = 0; k < 4; k++)
      sizes.sample(&often, 40, SiteSizes::kSampleBytes * 40 / 64 / 4, this);
  }
  EXPECT_TRUE(sizes.has_sibling(&often)); // as many, of another class
}
TEST_F(SiteSizesTest, PlacesOfAllSitesAreAdded) {
  smalloc_cell other = {};
  EXPECT_EQ(sizes.places(), 0u);
  take(&cell, 64); // 1024 of 80
  EXPECT_EQ(sizes.places(), 1024u * 80);
  take(&other, 1024); // 64 of 1040
  EXPECT_EQ(sizes.places(), 1024u * 80 + 64u * 1040);
}

TEST_F(SiteSizesTest, EveryEighthAsks) {
  unsigned looks = 0;
  for (unsigned i = 1; i <= 64; i++)
    if (take(&cell, 64)) {
      looks++;
      EXPECT_EQ(i % SiteSizes::kSamplesPerLook, 0u);
    }
  EXPECT_EQ(looks, 64 / SiteSizes::kSamplesPerLook);
}
TEST(SamplePoints, OneIn64KiB) {
  unsigned points = 0;
  for (uint64_t at = 0; at < 4 << 20; at += 100)
    points += SiteSizes::is_sample(at, at + 100);
  EXPECT_EQ(points, 64u);
  EXPECT_TRUE(SiteSizes::is_sample(5, 5 + 65536));
}
} // namespace
} // namespace smalloc
