// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests on this machine that a superpage is split in place, stays split, and is joined again.
#include "smalloc/base/units.h"
#include "smalloc/numa/page_backing.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <sys/mman.h>

namespace smalloc::numa {
namespace {

// Returns true if smaps shows this advice for the mapping of the address: nh, hg.
bool advised(const void *address, const std::string &word) {
  std::ifstream smaps("/proc/self/smaps");
  const auto at = reinterpret_cast<uintptr_t>(address);
  bool inside = false;
  for (std::string line; std::getline(smaps, line);) {
    unsigned long from, to;
    if (sscanf(line.c_str(), "%lx-%lx ", &from, &to) == 2)
      inside = at >= from && at < to;
    if (inside && line.starts_with("VmFlags:")) {
      std::istringstream words(line);
      for (std::string w; words >> w;)
        if (w == word)
          return true;
    }
  }
  return false;
}

struct PageBackingTest : testing::Test {
  void SetUp() override {
    mapping = mmap(nullptr, 3 * kSuperpageBytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(mapping, MAP_FAILED);
    unit =
        reinterpret_cast<char *>(align_up(reinterpret_cast<uintptr_t>(mapping), kSuperpageBytes));
    madvise(unit, kSuperpageBytes, MADV_HUGEPAGE);
    memset(unit, 7, kSuperpageBytes);
    if (backing() != Backing::kSuperpage)
      GTEST_SKIP() << "no superpage is to be had, or Linux is older than 6.7";
  }
  void TearDown() override { munmap(mapping, 3 * kSuperpageBytes); }
  Backing backing() const { return backing_of(reinterpret_cast<uintptr_t>(unit)); }
  void *mapping = nullptr;
  char *unit = nullptr;
};

} // namespace

TEST_F(PageBackingTest, WhatIsSplitIsAdvisedAgainstSuperpages) {
  errno = 77;
  ASSERT_EQ(split_superpage(unit), 0);
  EXPECT_EQ(backing(), Backing::kPages);
  EXPECT_TRUE(advised(unit, "nh")); // khugepaged skips it
  EXPECT_EQ(errno, 77);
  for (size_t i = 0; i < kSuperpageBytes; i++)
    ASSERT_EQ(unit[i], 7);
  const int error = join_pages(unit, kSuperpageBytes);
  // The system may be short of superpages; any other error is smalloc's.
  ASSERT_TRUE(error == 0 || error == EAGAIN || error == ENOMEM || error == EBUSY) << error;
  EXPECT_FALSE(advised(unit, "nh"));
  if (error == 0) {
    EXPECT_EQ(backing(), Backing::kSuperpage);
  }
  for (size_t i = 0; i < kSuperpageBytes; i++)
    ASSERT_EQ(unit[i], 7);
}
TEST_F(PageBackingTest, WhatCannotBeSplitKeepsItsAdvice) {
  ASSERT_EQ(munmap(unit, kSuperpageBytes), 0);
  EXPECT_EQ(split_superpage(unit), ENOMEM);
}

} // namespace smalloc::numa
