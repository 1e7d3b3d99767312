// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests of the contents of a unit on base pages, where the kernel shows which pages a sample has
// touched.
#include "smalloc/base/units.h"
#include "smalloc/os/os_hooks.h"
#include "smalloc/os/unit_contents.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

namespace smalloc {
namespace {
struct UnitContentsTest : testing::Test {
  void SetUp() override {
    unit = static_cast<char *>(kLinux.reserve(kSuperpageBytes));
    ASSERT_NE(unit, nullptr);
    ASSERT_EQ(kLinux.commit(unit, kSuperpageBytes), 0);
    ASSERT_EQ(kLinux.advise(unit, kSuperpageBytes, Advice::kNoSuperpages), 0);
  }
  void TearDown() override { munmap(unit, kSuperpageBytes); }
  void write(size_t pages, char value = 1, size_t step = 1) {
    for (size_t page = 0; page < pages; page += step)
      memset(unit + page * kBasePageBytes, value, kBasePageBytes);
  }
  char *unit = nullptr;
};

TEST_F(UnitContentsTest, AllWrittenPagesHoldData) {
  write(kPagesPerUnit);
  EXPECT_TRUE(kLinux.holds_data(unit));
}
TEST_F(UnitContentsTest, WhatIsNotResidentIsNotTouched) {
  write(kPagesPerUnit - 1);
  EXPECT_FALSE(kLinux.holds_data(unit));
  EXPECT_EQ(kLinux.resident_pages(unit, kSuperpageBytes), kPagesPerUnit - 1);
}
TEST_F(UnitContentsTest, ZerosAreNoData) {
  write(kPagesPerUnit, 0);
  EXPECT_FALSE(kLinux.holds_data(unit));
}
TEST_F(UnitContentsTest, PagesAtAFixedDistanceAreNotAll) {
  for (size_t step = 2; step <= 64; step++) {
    write(kPagesPerUnit, 0);
    write(kPagesPerUnit, 1, step);
    EXPECT_FALSE(kLinux.holds_data(unit)) << step;
  }
}
TEST_F(UnitContentsTest, AFillThatHasNotReachedTheLastPageIsNotDone) {
  write(kPagesPerUnit);
  memset(unit + kSuperpageBytes - kBasePageBytes, 0, kBasePageBytes);
  EXPECT_FALSE(kLinux.holds_data(unit));
}
TEST_F(UnitContentsTest, UnreadableMemoryHoldsNothingThatWeKnow) {
  write(kPagesPerUnit);
  ASSERT_EQ(mprotect(unit, kSuperpageBytes, PROT_NONE), 0);
  EXPECT_FALSE(kLinux.holds_data(unit));
  ASSERT_EQ(mprotect(unit, kSuperpageBytes, PROT_READ), 0);
  EXPECT_TRUE(kLinux.holds_data(unit));
}
} // namespace
} // namespace smalloc
