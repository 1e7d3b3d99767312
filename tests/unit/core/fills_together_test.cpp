// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fills_together_test.cpp tests loops that fill more than one array, or leave a border out.
#include "tests/unit/core/big_ahead_fixture.h"

namespace smalloc {
namespace {

struct FillsTogetherTest : BigAheadTest {
  /// Writes `parts` sixteenths of the object, from its first byte on, as the program would.
  void write(const char *p, size_t parts) {
    written[p] = parts;
    const size_t whole = parts / kUnitParts;
    for (size_t i = 0; i < whole; i++)
      fill(p, i);
    fill(p, whole, parts % kUnitParts * (kPagesPerUnit / kUnitParts));
  }
  void SetUp() override {
    BigAheadTest::SetUp();
    FakeOs::filled_parts = [this](const char *u) {
      for (const auto &[p, parts] : written)
        if (u >= unit(p, 0) && u < unit(p, 100)) {
          const auto before = static_cast<size_t>(u - unit(p, 0)) / kSuperpageBytes * kUnitParts;
          return static_cast<unsigned>(
              std::min<size_t>(parts - std::min(before, parts), kUnitParts));
        }
      return 0u;
    };
  }
  std::map<const char *, size_t> written;
};

/// Only the missing part of a unit counts, not the whole unit. So the next unit is given before the
/// loop reaches it.
TEST_F(FillsTogetherTest, TheNextUnitIsGivenWhileTheLastIsBeingFilled) {
  char *p = make(100);
  write(p, kUnitParts); // the probe
  look();
  for (size_t parts = kUnitParts + 1; parts < 97 * kUnitParts; parts++) {
    write(p, parts);
    look();
    ASSERT_GE(superpages_of(p), parts / kUnitParts) << parts;
  }
  EXPECT_TRUE(FakeOs::collapsed.empty());
  ASSERT_TRUE(big.check_invariants());
}

/// Neither of two arrays takes the whole window. Both are on superpages except for their first
/// units.
TEST_F(FillsTogetherTest, TwoArraysShareTheWindow) {
  char *p = make(100), *q = make(100);
  for (size_t parts = 0; parts < 97 * kUnitParts; parts++) {
    write(p, parts);
    write(q, parts);
    look();
  }
  EXPECT_GT(superpages_of(p), 90u);
  EXPECT_GT(superpages_of(q), 90u);
  ASSERT_TRUE(big.check_invariants());
}

/// Each of three arrays gets its next unit before its last one is full, although three units and
/// more are then given ahead.
TEST_F(FillsTogetherTest, ThreeArraysGetEachUnit) {
  char *p[] = {make(100), make(100), make(100)};
  for (size_t parts = 0; parts < 97 * kUnitParts; parts++) {
    for (char *one : p)
      write(one, parts);
    look();
  }
  for (char *one : p)
    EXPECT_GT(superpages_of(one), 90u);
  ASSERT_TRUE(big.check_invariants());
}

/// A stencil leaves out the first plane of a grid: the first unit never becomes dense.
TEST_F(FillsTogetherTest, ABorderThatIsLeftOutEndsNothing) {
  char *p = make(100);
  for (size_t page = 128; page < kPagesPerUnit; page++) {
    pages[unit(p, 0)][page] = true;
    if (page == 200 || page == 300)
      look();
  }
  EXPECT_EQ(superpages_of(p), kLeastWindow); // it grew in order
  for (size_t i = 1; i <= kLeastWindow; i++)
    fill(p, i);
  written[p] = (1 + kLeastWindow) * kUnitParts;
  EXPECT_TRUE(look());
  EXPECT_EQ(superpages_of(p), 2 * kLeastWindow);
}

/// The same, but the program is in the next unit already when the helper thread looks.
TEST_F(FillsTogetherTest, AProbeWithABorderThatWasPassedEndsNothing) {
  char *p = make(100);
  for (size_t page = 128; page < kPagesPerUnit; page++)
    pages[unit(p, 0)][page] = true;
  price.account(5000000000); // too expensive at this look
  look();
  look();
  EXPECT_EQ(superpages_of(p), 0u);
  FakeOs::clock_ns += 5000000000;
  fill(p, 1, 60);
  look();
  EXPECT_EQ(superpages_of(p), kLeastWindow);
}

/// Units that were given to an object and stay untouched are withdrawn after a while. They take no
/// memory meanwhile.
TEST_F(FillsTogetherTest, WhatIsNotTouchedIsWithdrawn) {
  char *p = make(100);
  write(p, kUnitParts);
  look();
  EXPECT_EQ(superpages_of(p), kLeastWindow);
  look();
  FakeOs::clock_ns += 40000000;
  look();
  EXPECT_EQ(superpages_of(p), 0u);
  EXPECT_EQ(given, 0u);
  EXPECT_TRUE(is_advised_against(p, 1));
  EXPECT_EQ(region.charged_superpages(), 0u);
  ASSERT_TRUE(big.check_invariants());
  char *q = make(100);
  write(q, kUnitParts);
  look();
  EXPECT_EQ(superpages_of(q), kLeastWindow);
  fill(p, 1, 60); // it continues
  FakeOs::clock_ns += 1000;
  look();
  fill(p, 1, 130);
  look();
  ASSERT_TRUE(big.check_invariants());
}

/// Zeros look like memory that was never written. A part that holds zeros does not prevent the
/// other parts from counting.
TEST_F(FillsTogetherTest, PartsThatHoldZerosEndNothing) {
  char *p = make(100);
  write(p, kUnitParts);
  FakeOs::holds_data = [](const char *) { return false; };
  look();
  size_t parts = 0;
  FakeOs::filled_parts = [&](const char *u) {
    return u == unit(p, 1) && parts ? kUnitParts - 1 : 0u;
  };
  look();
  EXPECT_EQ(superpages_of(p), kLeastWindow);
  parts = 1;
  EXPECT_TRUE(look());
  // The first unit lacks one part, the second all. The window has room for another unit, which is
  // given once the probe is filled.
  EXPECT_EQ(superpages_of(p), kLeastWindow);
  fill(p, 3, 60);
  look();
  fill(p, 3, 400); // the probe: everything in front of it is filled
  look();
  EXPECT_GT(superpages_of(p), kLeastWindow);
}

} // namespace
} // namespace smalloc
