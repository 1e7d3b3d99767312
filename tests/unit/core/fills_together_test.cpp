// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops that fill more than one array, or leave a border out.
#include "tests/unit/core/big_ahead_fixture.h"

namespace smalloc {
namespace {

struct FillsTogetherTest : BigAheadTest {
  /// The program has written `parts` sixteenths of the object, from its first byte on.
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

/// What a unit still lacks counts, not the whole unit: the next one is there before the loop reaches it.
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

/// Neither of two arrays takes the whole window: both are on superpages but for what they began with.
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

/// The same where the helper thread looks when the program is in the next unit already.
TEST_F(FillsTogetherTest, AProbeWithABorderThatWasPassedEndsNothing) {
  char *p = make(100);
  for (size_t page = 128; page < kPagesPerUnit; page++)
    pages[unit(p, 0)][page] = true;
  price.account(5000000000); // too dear at this look
  look();
  look();
  EXPECT_EQ(superpages_of(p), 0u);
  FakeOs::clock_ns += 5000000000;
  fill(p, 1, 60);
  look();
  EXPECT_EQ(superpages_of(p), kLeastWindow);
}

} // namespace
} // namespace smalloc
