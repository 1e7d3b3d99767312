// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/benefit/ranking.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace smalloc::benefit;

namespace {

// Cascaval et al. 2005, table 1: page faults and TLB misses (thousands) a second, all data on small
// pages.
struct Row {
  const char *name;
  double reference_faults, reference_misses_k, training_faults, training_misses_k;
};
const Row kTable1[] = {{"RF-CTH", 796, 935, 1205, 67},  {"UMT2K", 4073, 291, 6734, 200},
                       {"apsi", 129, 353, 7342, 39},    {"sixtrack", 81, 7, 369, 11},
                       {"fma3d", 126, 181, 32, 0},      {"lucas", 3912, 1646, 4097, 20},
                       {"ammp", 30, 1080, 115, 1093},   {"equake", 129, 312, 243, 233},
                       {"art", 18, 4, 117, 2},          {"galgel", 919, 208, 2817, 40},
                       {"mesa", 45, 35, 70, 28},        {"applu", 201, 252, 764, 357},
                       {"mgrid", 77, 307, 401, 194},    {"swim", 34, 2877, 615, 5311},
                       {"wupwise", 304, 179, 1991, 172}};

std::vector<std::string> filtered(bool training) {
  std::vector<std::string> names;
  for (const Row &row : kTable1) {
    Rates rates;
    rates.page_faults_per_second = training ? row.training_faults : row.reference_faults;
    rates.tlb_misses_per_second =
        1000 * (training ? row.training_misses_k : row.reference_misses_k);
    if (!significant(rates, SignificanceRule::kPaper))
      names.push_back(row.name);
  }
  return names;
}

TEST(Significance, PaperTable1ReferenceInput) {
  EXPECT_THAT(filtered(false), testing::UnorderedElementsAre("mesa", "art", "sixtrack"));
}

TEST(Significance, PaperTable1TrainingInput) {
  EXPECT_THAT(filtered(true), testing::UnorderedElementsAre("mesa", "art", "sixtrack", "fma3d"));
}

TEST(Significance, ShareOfCycles) {
  EXPECT_TRUE(significant({0, 0, 0.0101, 0, 1}, SignificanceRule::kShare));
  EXPECT_TRUE(significant({0, 0, 0.0051, 0.0050, 1}, SignificanceRule::kShare)); // together
  EXPECT_FALSE(significant({1e9, 1e9, 0.0099, 0, 1}, SignificanceRule::kShare));
}

TEST(Significance, LargeShareOfNextToNothing) {
  EXPECT_FALSE(significant({1e9, 1e9, 0.9, 0, 0.0009}, SignificanceRule::kShare));
  EXPECT_TRUE(significant({0, 0, 0.9, 0, 0.0011}, SignificanceRule::kShare));
  EXPECT_TRUE(significant({1e9, 1e9, 0.9, 0, 0.0009}, SignificanceRule::kPaper));
}

Mapping mapping(size_t category, uint64_t superpages, double saved) {
  return {category, superpages, saved, saved * 0.9, saved * 1.1, 0, false};
}

TEST(Ranking, PercentageOfMaximalBenefit) {
  std::vector<Mapping> m = {mapping(0, 4, 50), mapping(1, 9, 200), mapping(2, 1, -10),
                            mapping(3, 3, 50)};
  rank_mappings(m);
  EXPECT_EQ(m[0].category, 1u);
  EXPECT_EQ(m[0].pmb_percent, 100);
  EXPECT_EQ(m[1].category, 3u); // as much as 0, with fewer superpages
  EXPECT_EQ(m[1].pmb_percent, 25);
  EXPECT_EQ(m[2].category, 0u);
  EXPECT_EQ(m[3].pmb_percent, 0);
}

TEST(Ranking, NothingSaved) {
  std::vector<Mapping> m = {mapping(0, 4, -1), mapping(1, 2, 0)};
  rank_mappings(m);
  EXPECT_EQ(m[0].pmb_percent, 0);
  EXPECT_EQ(choose(m, UINT64_MAX, true, 0), 0u);
  EXPECT_FALSE(m[0].chosen || m[1].chosen);
}

TEST(Choice, FitsTheBudgetByBenefitOfASuperpage) {
  std::vector<Mapping> m = {mapping(0, 100, 1000), mapping(1, 2, 400), mapping(2, 3, 300)};
  rank_mappings(m);
  EXPECT_EQ(choose(m, 101, true, 1), 5u); // 1 and 2 first; then 0 no longer fits
  EXPECT_FALSE(m[0].chosen);
  EXPECT_TRUE(m[1].chosen && m[2].chosen);
  EXPECT_EQ(choose(m, 105, true, 1), 105u);
  EXPECT_EQ(choose(m, 101, false, 1), 100u); // another input: by PMB alone
  EXPECT_TRUE(m[0].chosen);
  EXPECT_FALSE(m[1].chosen);
  EXPECT_EQ(choose(m, 0, true, 1), 0u);
}

TEST(Choice, TakesNothingThatMightBeALoss) {
  std::vector<Mapping> m = {mapping(0, 1, 100), mapping(1, 1, 90)};
  m[1].saved_cycles_low = -5;
  rank_mappings(m);
  EXPECT_EQ(choose(m, UINT64_MAX, true, 1), 1u);
  EXPECT_FALSE(m[1].chosen);
  EXPECT_EQ(choose(m, UINT64_MAX, true, 100.5), 0u); // above every PMB
}

} // namespace
