// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests that smalloc's mappings lie together: separate ones would shift the program's.
#include "runtime/numa/live/pages.h"
#include "smalloc/base/units.h"

#include <cerrno>
#include <cstdint>
#include <cstring>

#include <gtest/gtest.h>
#include <sys/mman.h>

namespace smalloc::numa {
namespace {

// Returns the place of the program's next mapping.
uintptr_t next_mapping() {
  void *p = mmap(nullptr, kSuperpageBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(p, kSuperpageBytes);
  return reinterpret_cast<uintptr_t>(p);
}

} // namespace

TEST(NumaPages, AreZeroedAndKeepErrno) {
  errno = 77;
  auto *p = static_cast<unsigned char *>(map_pages(5 * kBasePageBytes));
  ASSERT_NE(p, nullptr);
  for (size_t i = 0; i < 5 * kBasePageBytes; i++)
    ASSERT_EQ(p[i], 0);
  unmap_pages(p, 5 * kBasePageBytes);
  EXPECT_EQ(errno, 77);
}
TEST(NumaPages, KeptTogetherTheyShiftNothing) {
  ASSERT_TRUE(keep_together());
  const uintptr_t before = next_mapping();
  void *first = map_pages(kSuperpageBytes), *second = map_pages(3 * kBasePageBytes + 1);
  memset(first, 1, kSuperpageBytes);
  memset(second, 1, 3 * kBasePageBytes + 1);
  EXPECT_EQ(next_mapping(), before);
  unmap_pages(first, kSuperpageBytes);
  EXPECT_EQ(next_mapping(), before); // no mapping gets into the place
  auto *third = static_cast<char *>(map_pages(kSuperpageBytes));
  EXPECT_NE(third, first);
  EXPECT_EQ(third[100], 0);
  EXPECT_EQ(next_mapping(), before);
  // Memory beyond the reserved room comes from elsewhere.
  EXPECT_EQ(place_for(size_t{1} << 40), nullptr);
  void *large = map_pages(size_t{2} << 30);
  ASSERT_NE(large, nullptr);
  unmap_pages(large, size_t{2} << 30);
}

} // namespace smalloc::numa
