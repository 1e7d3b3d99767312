// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compares payingSizes()' bounds of sizes known only at run time with the spread model evaluated at
// the sizes themselves.
#include "passes/spread/NestSpread.h"
#include "passes/spread/PayingSizes.h"

#include <gtest/gtest.h>

using namespace smalloc;

namespace {

constexpr uint64_t Typical = 1024;

SpreadTarget target() {
  SpreadTarget t;
  t.ReachPages = 64;
  return t;
}

/// True if superpages pay under `r` at 35 cycles a page walk, for an object of any size.
bool pays(const SpreadReference &r) {
  const SpreadResult result = spreadOfFirst({r}, target());
  return result.Pages > 64 && result.AccessesPerPage >= 2 && result.ExposedPerAccess * 35 >= 1;
}

SpreadLevel open_count(int64_t stride) { return {stride, 1u << 20, true, false}; }

OpenPlace count_of(size_t level, size_t size) { return {level, false, {size}}; }
OpenPlace step_of(size_t level, size_t size, uint64_t factor = 1) {
  return {level, true, {size}, factor};
}

std::optional<std::vector<SizeBounds>> bounds(const SpreadReference &r,
                                              const std::vector<OpenPlace> &places, size_t sizes) {
  return payingSizes({r, places, sizes}, Typical, 4096, pays);
}

SpreadReference columns() {
  SpreadReference r;
  r.Levels = {open_count(4096), open_count(8)};
  return r;
}

} // namespace

TEST(PayingSizes, columns_pay_when_they_outgrow_the_reach_and_rows_are_no_stream) {
  const auto found = bounds(columns(), {step_of(0, 0), count_of(0, 1), count_of(1, 2)}, 3);
  ASSERT_TRUE(found);
  EXPECT_EQ((*found)[0].Least, 2049u); // the longest stride of a stream is 2048
  EXPECT_EQ((*found)[0].Most, UINT64_MAX);
  EXPECT_EQ((*found)[1].Least, 65u);
  EXPECT_EQ((*found)[1].Most, UINT64_MAX);
  EXPECT_LE((*found)[2].Least, 3u); // a single column revisits no page
  EXPECT_GE((*found)[2].Least, 2u);
}

TEST(PayingSizes, short_rows_pay_only_while_they_are_short) {
  SpreadReference r;
  r.Levels = {open_count(8), open_count(4096), open_count(0)};
  const auto found = bounds(r, {count_of(0, 0), step_of(1, 1), count_of(1, 2)}, 3);
  ASSERT_TRUE(found);
  EXPECT_GE((*found)[0].Most, 12u);
  EXPECT_LT((*found)[0].Most, 64u);
  EXPECT_GT((*found)[1].Least, 64u);
  EXPECT_GE((*found)[2].Least, 60u);
}

TEST(PayingSizes, each_bound_is_where_the_model_changes_its_mind) {
  const SpreadReference r = columns();
  const auto found = bounds(r, {step_of(0, 0), count_of(0, 1)}, 2);
  ASSERT_TRUE(found);
  for (const auto &[rows, expected] :
       {std::pair((*found)[1].Least, true), std::pair((*found)[1].Least - 1, false)}) {
    SpreadReference at = r;
    at.Levels[0] = {4096, rows, false, false};
    EXPECT_EQ(pays(at), expected) << rows;
  }
}

TEST(PayingSizes, rows_as_long_as_the_loop_along_them_are_one_stream) {
  SpreadReference r;
  r.Levels = {open_count(8), open_count(4096), open_count(0)};
  EXPECT_FALSE(bounds(r, {count_of(0, 0), step_of(1, 0, 8), count_of(1, 1)}, 2));
}

TEST(PayingSizes, columns_of_a_matrix_as_wide_as_the_loop_across_it) {
  const auto found = bounds(columns(), {step_of(0, 1, 8), count_of(0, 0), count_of(1, 1)}, 2);
  ASSERT_TRUE(found);
  EXPECT_EQ((*found)[1].Least, 257u); // 257 columns make 2056 bytes a row
}

// Models a walk that pays with two long or two short loops, but not with one of each.
TEST(PayingSizes, a_box_that_leaves_out_what_pays_is_none) {
  const auto both_or_none = [](const SpreadReference &at) {
    return (at.Levels[0].Trip >= 4096) == (at.Levels[1].Trip >= 4096);
  };
  EXPECT_FALSE(
      payingSizes({columns(), {count_of(0, 0), count_of(1, 1)}, 2}, Typical, 4096, both_or_none));
}

TEST(PayingSizes, a_stream_never_pays) {
  SpreadReference r;
  r.Levels = {open_count(8), open_count(0)};
  EXPECT_FALSE(bounds(r, {count_of(0, 0), count_of(1, 1)}, 2));
}

TEST(PayingSizes, nothing_is_open_or_too_much) {
  EXPECT_FALSE(bounds(columns(), {}, 0));
  EXPECT_FALSE(bounds(columns(), {count_of(0, 0)}, MaxOpenSizes + 1));
}

TEST(PayingSizes, an_upper_bound_is_found_far_away) {
  SpreadReference r = columns();
  const auto found =
      payingSizes({r, {count_of(0, 0)}, 1}, Typical, 4096, [](const SpreadReference &at) {
        return at.Levels[0].Trip >= 100 && at.Levels[0].Trip <= 12345678;
      });
  ASSERT_TRUE(found);
  EXPECT_EQ((*found)[0].Least, 100u);
  EXPECT_EQ((*found)[0].Most, 12345678u);
}

// Each evaluation counts pages and misses. Evaluating 256 samples for each walk took a third of a
// short unit's compile time.
TEST(PayingSizes, no_more_samples_are_asked_than_tell) {
  unsigned asked = 0;
  const auto found = payingSizes({columns(), {step_of(0, 0), count_of(0, 1), count_of(1, 2)}, 3},
                                 Typical, 4096, [&](const SpreadReference &at) {
                                   ++asked;
                                   return pays(at);
                                 });
  ASSERT_TRUE(found);
  EXPECT_LT(asked, 200u);
}

TEST(PayingSizes, a_typical_count_beyond_the_largest_one_counts_as_the_largest) {
  SpreadReference r;
  r.Levels = {open_count(4096)};
  const uint64_t largest = uint64_t(1) << 24;
  const auto beyond = [&](const SpreadReference &at) { return at.Levels[0].Trip > largest; };
  EXPECT_FALSE(payingSizes({r, {count_of(0, 0)}, 1}, 2 * largest, 4096, beyond));
  const auto half = [&](const SpreadReference &at) { return at.Levels[0].Trip >= largest / 2; };
  const auto found = payingSizes({r, {count_of(0, 0)}, 1}, 2 * largest, 4096, half);
  ASSERT_TRUE(found);
  EXPECT_EQ((*found)[0].Least, largest / 2);
  EXPECT_EQ((*found)[0].Most, UINT64_MAX);
}
