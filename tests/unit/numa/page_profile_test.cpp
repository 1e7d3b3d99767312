// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests what is counted, what is dropped, and that the profile never takes more than its share.
#include "runtime/numa/live/page_profile.h"
#include "tests/unit/numa/fake_machine.h"

#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <string>

namespace smalloc::numa {
namespace {
struct PageProfileTest : testing::Test {
  ~PageProfileTest() override { profile.clear(); }
  MigrationPolicy policy{fake_topology(2), PolicyOptions()};
  PageProfile profile;
};
} // namespace

TEST_F(PageProfileTest, CountsByPageAndNode) {
  EXPECT_TRUE(profile.touch(5 * kSuperpageBytes + 3 * kBasePageBytes + 17, 1));
  EXPECT_TRUE(profile.touch(5 * kSuperpageBytes + 3 * kBasePageBytes, 0));
  EXPECT_TRUE(profile.touch(5 * kSuperpageBytes, 0));
  ASSERT_EQ(profile.count(), 1u);
  const Unit *unit = profile.find(5 * kSuperpageBytes + 99);
  ASSERT_NE(unit, nullptr);
  EXPECT_EQ(unit->address, 5 * kSuperpageBytes);
  EXPECT_EQ(unit->page[3].count(1), 1u);
  EXPECT_EQ(unit->page[3].count(0), 1u);
  EXPECT_EQ(unit->page[0].total(), 1u);
  EXPECT_EQ(profile.looked(0), PageProfile::kNever);
  EXPECT_EQ(profile.find(4 * kSuperpageBytes), nullptr);
}
TEST_F(PageProfileTest, TakesNoMoreUnitsThanAllowed) {
  profile.allow(0); // the minimum is always allowed
  for (size_t u = 1; u <= PageProfile::kLeastUnits; u++)
    EXPECT_TRUE(profile.touch(u * kSuperpageBytes, 0));
  EXPECT_FALSE(profile.touch(1000 * kSuperpageBytes, 0));
  EXPECT_TRUE(profile.touch(7 * kSuperpageBytes, 0)); // known units go on counting
  EXPECT_EQ(profile.refused(), 1u);
  // At most 0.3 % of a GiB, all tables included.
  const size_t units = PageProfile::units_for_resident(uint64_t{1} << 30);
  profile.allow(units);
  for (size_t u = 1; u <= units + 10; u++)
    profile.touch(u * kSuperpageBytes, 0);
  EXPECT_EQ(profile.count(), units);
  EXPECT_LE(profile.bytes(), (uint64_t{1} << 30) * 3 / 1000);
  EXPECT_GE(units, 500u); // of 512: nearly all of it can be counted
}
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) // whose shadow memory grows too
// Tests the kernel's view: for a GiB in use, tables, slabs and what growth left behind take 0.3 %.
TEST_F(PageProfileTest, TakesItsShareOfTheMemoryAndNoMore) {
  const auto anonymous_bytes = [] {
    std::ifstream smaps("/proc/self/smaps_rollup");
    uint64_t kilobytes = 0;
    for (std::string word; smaps >> word;)
      if (word == "Anonymous:")
        smaps >> kilobytes;
    return kilobytes * 1024;
  };
  constexpr uint64_t kFootprint = uint64_t{1} << 30;
  if (anonymous_bytes() == 0)
    GTEST_SKIP() << "no /proc/self/smaps_rollup";
  profile.allow(PageProfile::units_for_resident(kFootprint));
  const uint64_t before = anonymous_bytes();
  for (uint64_t at = 0; at < kFootprint; at += kBasePageBytes)
    profile.touch(kFootprint + at, at / kBasePageBytes % 2);
  const uint64_t taken = anonymous_bytes() - before;
  EXPECT_EQ(profile.refused(), 0u);
  EXPECT_EQ(profile.count(), kFootprint / kSuperpageBytes);
  EXPECT_LE(taken, kFootprint * 3 / 1000);
  EXPECT_GE(taken, profile.count() * sizeof(Unit)); // it was counted
}
#endif
TEST_F(PageProfileTest, ForgetsWhatNobodyUsesAndFindsTheRest) {
  profile.allow(100000);
  std::mt19937_64 random(7);
  std::map<uintptr_t, unsigned> wanted;
  for (unsigned round = 0; round < 30; round++) {
    for (unsigned i = 0; i < 700; i++) {
      const uintptr_t address = (1 + random() % 5000) * kSuperpageBytes;
      ASSERT_TRUE(profile.touch(address, 1));
      wanted[address] += 1;
    }
    for (const auto &[address, n] : wanted)
      ASSERT_NE(profile.find(address), nullptr);
    for (size_t i = 0; i < profile.count(); i++) { // every second one has aged to zero
      Unit &unit = *profile.units()[i];
      if (unit.address / kSuperpageBytes % 2) {
        unit.touched = 0;
        wanted.erase(unit.address);
      }
    }
    profile.forget_idle(policy);
    ASSERT_EQ(profile.count(), wanted.size());
    for (const auto &[address, n] : wanted)
      ASSERT_EQ(profile.find(address)->page[0].total(), n);
  }
}
TEST_F(PageProfileTest, KeepsUnitsThatWereSplit) {
  profile.touch(kSuperpageBytes, 0);
  profile.units()[0]->was_superpage = true;
  profile.units()[0]->touched = 0;
  profile.forget_idle(policy);
  EXPECT_EQ(profile.count(), 1u);
}
TEST_F(PageProfileTest, AForgottenUnitComesBackEmpty) {
  profile.touch(kSuperpageBytes, 0);
  Unit *unit = profile.units()[0];
  unit->granularity = Granularity::kSuperpage;
  unit->touched = 0;
  profile.forget_idle(policy);
  profile.touch(9 * kSuperpageBytes, 1);
  EXPECT_EQ(profile.units()[0]->page[0].count(0), 0u);
  EXPECT_EQ(profile.units()[0]->granularity, Granularity::kPages);
}

} // namespace smalloc::numa
