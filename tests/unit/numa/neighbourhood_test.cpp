// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests which node a page's neighbours indicate: that of the smallest block around it with enough
// samples.
#include "smalloc/numa/neighbourhood.h"

#include <algorithm>
#include <memory>
#include <random>

#include <gtest/gtest.h>

namespace smalloc::numa {
namespace {

struct Pages {
  PageCounts page[kPagesPerUnit];
  Pages() {
    for (PageCounts &p : page)
      p.set_home(0);
  }
  void use(unsigned from, unsigned to, uint8_t node, unsigned step = 1) {
    for (unsigned p = from; p < to; p += step)
      page[p].add(node);
  }
  /// Returns the node that the block around the page indicates; -1: none.
  int speaks(unsigned p, double *share = nullptr) const {
    double by_node[4] = {};
    if (!Neighbourhood(page, 4, 0.8).around(p, by_node))
      return -1;
    if (share)
      std::copy(by_node, by_node + 4, share);
    return static_cast<int>(std::max_element(by_node, by_node + 4) - by_node);
  }
};

} // namespace

TEST(Neighbourhood, NobodySpeaksWhereTooLittleWasSeen) {
  Pages pages;
  EXPECT_EQ(pages.speaks(0), -1);
  pages.use(100, 115, 1);
  EXPECT_EQ(pages.speaks(100), -1);
  pages.use(400, 401, 1);
  EXPECT_EQ(pages.speaks(0), 1); // sixteen, in any place
}

TEST(Neighbourhood, TheSmallestBlockThatKnowsSpeaks) {
  Pages pages;
  pages.use(0, 512, 2, 16); // 32 in all
  pages.use(64, 72, 1);
  pages.use(64, 72, 1);
  EXPECT_EQ(pages.speaks(70), 1);
  EXPECT_EQ(pages.speaks(300), 2); // the upper half has sixteen
  EXPECT_EQ(pages.speaks(80), 1); // the block of 16 around it has no samples, that of 32 has enough
}

TEST(Neighbourhood, AHotPageSpeaksForItself) {
  Pages pages;
  for (unsigned i = 0; i < 1000; i++)
    pages.page[3].add(1);
  EXPECT_EQ(pages.speaks(4), -1);
  pages.use(256, 512, 2, 8); // 32 beside it
  EXPECT_EQ(pages.speaks(4), 2);
}

TEST(Neighbourhood, SeveralUsersAreNobody) {
  Pages pages;
  pages.use(0, 512, 0, 8);
  pages.use(1, 512, 1, 8);
  for (unsigned p = 0; p < kPagesPerUnit; p++)
    ASSERT_EQ(pages.speaks(p), -1) << p;
}

TEST(Neighbourhood, CountsAreAveragesOfWhatIsThere) {
  Pages pages;
  for (unsigned p = 8; p < kPagesPerUnit; p++)
    pages.page[p].set_home(kNoNode);
  pages.use(0, 8, 3);
  pages.use(0, 8, 3);
  double share[4];
  ASSERT_EQ(pages.speaks(2, share), 3);
  EXPECT_DOUBLE_EQ(share[3], 2);
  EXPECT_DOUBLE_EQ(share[0], 0);
}

// Users by chance: one of them has four fifths in few of the blocks only.
TEST(Neighbourhood, IsSeldomFooledByChance) {
  std::mt19937 random(5);
  unsigned fooled = 0, asked = 0;
  for (unsigned round = 0; round < 200; round++) {
    auto pages = std::make_unique<Pages>();
    for (unsigned k = 0; k < 300; k++)
      pages->page[random() % kPagesPerUnit].add(random() % 2);
    for (unsigned p = 0; p < kPagesPerUnit; p += 32, asked++)
      fooled += pages->speaks(p) >= 0;
  }
  EXPECT_LT(fooled, asked / 50);
}

} // namespace smalloc::numa
