// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/benefit/objects.h"

#include <gtest/gtest.h>

using namespace smalloc::benefit;

namespace {

constexpr uint64_t kMiB = 1 << 20;

TEST(Objects, FindsTheSiteOfAnAddress) {
  Objects o(Grouping::kSite);
  o.segment(77, 0x1000, 0x1000);
  o.allocate(5, 0x10000, 100);
  o.allocate(6, 0x20000, 100);
  o.allocate(5, 0x10100, 50);
  EXPECT_EQ(o.find(0x1fff).category, 0u);
  EXPECT_EQ(o.find(0x10000).category, 1u);
  EXPECT_EQ(o.find(0x10063).category, 1u);
  EXPECT_EQ(o.find(0x10064).category, Objects::kNone);
  EXPECT_EQ(o.find(0x20000).category, 2u);
  EXPECT_EQ(o.find(0x10110).category, 1u);
  EXPECT_EQ(o.find(0xfff).category, Objects::kNone);
  EXPECT_EQ(o.find(0x30000).category, Objects::kNone);
  o.free(0x10000);
  EXPECT_EQ(o.find(0x10000).category, Objects::kNone);
  EXPECT_EQ(o.find(0x10110).category, 1u);
  EXPECT_EQ(o.categories()[1].peak_bytes, 150u);
  EXPECT_EQ(o.categories()[0].kind, CategoryKind::kStatic);
}

TEST(Objects, PacksEachCategory) {
  // Two sites whose objects alternate on base pages are apart in heaps of their own.
  Objects o(Grouping::kSite);
  for (uint64_t i = 0; i < 1000; i++) {
    o.allocate(1, 0x100000 + i * 64, 32);
    o.allocate(2, 0x100000 + i * 64 + 32, 32);
  }
  EXPECT_EQ(o.find(0x100000 + 999 * 64).packed, 999u * 32);
  EXPECT_EQ(o.categories()[0].heap_bytes, 32000u);
  EXPECT_EQ(o.categories()[0].superpages(), 1u);
}

TEST(Objects, UsesFreedRoomAgain) {
  Objects o(Grouping::kSite);
  for (int i = 0; i < 100; i++) {
    o.allocate(1, 0x100000, 3 * kMiB);
    o.free(0x100000);
  }
  EXPECT_EQ(o.categories()[0].superpages(), 2u);
  EXPECT_EQ(o.categories()[0].peak_bytes, 3 * kMiB);
}

TEST(Objects, SurvivesWhatItWasNotTold) {
  Objects o(Grouping::kSite);
  o.free(0x5000);
  o.allocate(1, 0x5000, 100);
  o.allocate(2, 0x5020, 100); // the first must have been freed
  EXPECT_EQ(o.find(0x5000).category, Objects::kNone);
  EXPECT_EQ(o.find(0x5030).category, 1u);
  o.allocate(3, 0x6000, 0);
  o.allocate(3, UINT64_MAX - 10, 100);
  o.allocate(3, 0x7000, UINT64_MAX);
  EXPECT_EQ(o.find(0x7000).category, Objects::kNone);
}

// A program that aligns a mapping maps too much and gives both ends back.
TEST(Objects, WhatIsTrimmedUnusedWasNeverLarger) {
  constexpr uint64_t kMiB = 1 << 20;
  Objects objects(Grouping::kSite);
  objects.allocate(1, 0x10000000, 8 * kMiB);
  objects.allocate(1, 0x20000000, 104 * kMiB);
  objects.reallocate(0x20000000, 1, 0x20000000 + 24 * kMiB, 80 * kMiB);
  objects.reallocate(0x20000000 + 24 * kMiB, 1, 0x20000000 + 24 * kMiB, 40 * kMiB);
  EXPECT_EQ(objects.categories()[0].peak_bytes, 48 * kMiB);
  EXPECT_EQ(objects.categories()[0].heap_bytes, 48 * kMiB);
  EXPECT_EQ(objects.find(0x20000000).category, Objects::kNone);
  EXPECT_EQ(objects.find(0x20000000 + 25 * kMiB).packed, 9 * kMiB);
  EXPECT_EQ(objects.find(0x20000000 + 64 * kMiB).category, Objects::kNone);
}

TEST(Objects, WhatShrinksStaysWhereItIs) {
  constexpr uint64_t kMiB = 1 << 20;
  Objects objects(Grouping::kSite);
  objects.allocate(1, 0x10000000, 8 * kMiB);
  objects.allocate(1, 0x20000000, 32 * kMiB);
  EXPECT_EQ(objects.find(0x20000000 + 9 * kMiB).packed, 17 * kMiB);
  objects.reallocate(0x20000000, 1, 0x20000000 + 8 * kMiB, 4 * kMiB);
  EXPECT_EQ(objects.find(0x20000000 + 9 * kMiB).packed, 17 * kMiB);
  EXPECT_EQ(objects.find(0x20000000 + 12 * kMiB).category, Objects::kNone);
  EXPECT_EQ(objects.categories()[0].peak_bytes, 40 * kMiB);
  // All of its room is free once it is freed.
  objects.free(0x20000000 + 8 * kMiB);
  objects.allocate(1, 0x30000000, 32 * kMiB);
  EXPECT_EQ(objects.find(0x30000000).packed, 8 * kMiB);
  EXPECT_EQ(objects.categories()[0].heap_bytes, 40 * kMiB);
  // A part that realloc gives back existed before.
  objects.allocate(1, 0x40000010, 4 * kMiB);
  objects.reallocate(0x40000010, 1, 0x40000010, kMiB);
  EXPECT_EQ(objects.categories()[0].peak_bytes, 44 * kMiB);
  // A reallocation by another site belongs to that site.
  objects.reallocate(0x40000010, 2, 0x40000010, 4096);
  EXPECT_EQ(objects.find(0x40000010).category, 1u);
}

TEST(Objects, PaperCategories) {
  Objects o(Grouping::kPaper);
  o.segment(9, 0x1000, 0x1000);
  o.allocate(1, 0x100000, 100);
  o.allocate(2, 0x200000, (128 << 10) - 1);
  o.allocate(3, 0x300000, 128 << 10);
  EXPECT_EQ(o.find(0x100000).category, o.find(0x200000).category);
  EXPECT_NE(o.find(0x300000).category, o.find(0x200000).category);
  EXPECT_EQ(o.categories().size(), 3u);
}

TEST(Objects, ACopyOfASiteIsACategoryWhereThatIsAsked) {
  for (const Grouping grouping : {Grouping::kSite, Grouping::kContext}) {
    Objects o(grouping);
    o.allocate(7, 0x10000, 100);
    o.allocate(7, 0x20000, 100, 1);
    o.allocate(7, 0x30000, 100, 2);
    o.allocate(8, 0x40000, 100, 2);
    o.allocate(7, 0x50000, 100, 1);
    const bool apart = grouping == Grouping::kContext;
    EXPECT_EQ(o.categories().size(), apart ? 4u : 2u);
    EXPECT_EQ(o.find(0x20010).category, o.find(0x50010).category);
    EXPECT_EQ(o.find(0x20010).category != o.find(0x30010).category, apart);
    const Category &copy = o.categories()[o.find(0x30010).category];
    EXPECT_EQ(copy.id, 7u);
    EXPECT_EQ(copy.context, apart ? 2u : 0u);
    EXPECT_EQ(copy.kind, apart ? CategoryKind::kSiteContext : CategoryKind::kSite);
  }
}

// A large object stays one category while it is resized; smaller objects share their site's.
TEST(Objects, ALargeObjectIsACategoryWhereThatIsAsked) {
  Objects o(Grouping::kObject);
  o.allocate(5, 16 * kMiB, 2 * kMiB);
  o.allocate(5, 32 * kMiB, 2 * kMiB - 1);
  o.allocate(5, 48 * kMiB, 4 * kMiB);
  o.allocate(6, 64 * kMiB, 4 * kMiB);
  const auto at = [&o](uint64_t mib) { return o.categories()[o.find(mib * kMiB).category]; };
  EXPECT_TRUE(at(16).kind == CategoryKind::kObject && at(16).id == 5 && at(16).context == 1);
  EXPECT_TRUE(at(32).kind == CategoryKind::kSite && at(32).id == 5 && at(32).context == 0);
  EXPECT_TRUE(at(48).kind == CategoryKind::kObject && at(48).id == 5 && at(48).context == 2);
  EXPECT_TRUE(at(64).kind == CategoryKind::kObject && at(64).id == 6 && at(64).context == 1);
  o.reallocate(48 * kMiB, 5, 128 * kMiB, 8 * kMiB);
  EXPECT_TRUE(at(128).id == 5 && at(128).context == 2);
  o.reallocate(32 * kMiB, 5, 256 * kMiB, 8 * kMiB); // has become large
  EXPECT_TRUE(at(256).id == 5 && at(256).context == 3);
  o.reallocate(128 * kMiB, 5, 512 * kMiB, kMiB);
  EXPECT_EQ(at(512).kind, CategoryKind::kSite);
  for (uint64_t i = 0; i < 2 * Objects::kMostObjects; i++) {
    o.allocate(7, uint64_t{1} << 40, 2 * kMiB);
    o.free(uint64_t{1} << 40);
  }
  EXPECT_LE(o.categories().size(), Objects::kMostObjects + 3);
}

TEST(Objects, WholeGibsOfAnObject) {
  constexpr uint64_t kGib = uint64_t{1} << 30;
  Objects o(Grouping::kSite, true);
  o.allocate(1, 0x10000, 100);
  o.allocate(1, 4 * kGib, 2 * kGib + kMiB);
  o.allocate(1, 8 * kGib, kGib - 1);
  o.allocate(1, 10 * kGib, kGib);
  EXPECT_FALSE(o.find(0x10000).in_gib);
  EXPECT_EQ(o.find(4 * kGib).packed, kGib); // behind the small one, at a border
  EXPECT_TRUE(o.find(6 * kGib - 1).in_gib);
  EXPECT_FALSE(o.find(6 * kGib).in_gib); // the tail
  EXPECT_FALSE(o.find(8 * kGib).in_gib);
  EXPECT_EQ(o.find(10 * kGib).packed % kGib, 0u);
  EXPECT_TRUE(o.find(11 * kGib - 1).in_gib);
  // The space skipped before a border counts as no memory.
  EXPECT_LE(o.categories()[0].heap_bytes, 4 * kGib + 4 * kMiB);
  Objects without(Grouping::kSite);
  without.allocate(1, 4 * kGib, 2 * kGib);
  EXPECT_FALSE(without.find(4 * kGib).in_gib);
  EXPECT_EQ(without.categories()[0].gib_pages, 0u);
}

// free() returns what a caller needs to know of the freed memory: where it was, and its category.
TEST(Objects, FreeTellsWhatIsGone) {
  Objects o(Grouping::kSite);
  o.allocate(7, 0x1000, 100);
  o.allocate(8, 0x20000, 5000);
  const Objects::Freed gone = o.free(0x20000);
  EXPECT_EQ(gone.bytes, 5000);
  EXPECT_EQ(o.categories()[gone.category].id, 8);
  EXPECT_EQ(o.free(0x20000).bytes, 0);
  EXPECT_EQ(o.free(0x1010).bytes, 0);
}

} // namespace
