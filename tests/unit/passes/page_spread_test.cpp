// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compares the arithmetic of passes/spread/PageSpread.h and NestSpread.h with brute force. The
// tests walk every address of random nests, count pages in a set, and count misses with an LRU list
// of the reach's length. Where the model is exact, both have to be equal. Where it estimates, the
// bounds below are what it keeps on these nests, and a change that loosens them fails.
#include "passes/spread/NestSpread.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <gtest/gtest.h>
#include <list>
#include <random>
#include <set>
#include <unordered_map>
#include <vector>

using namespace smalloc;

namespace {

constexpr uint64_t Page = 4096;
constexpr uint64_t Unbounded = UINT64_MAX;

SpreadLevel walk(int64_t stride, uint64_t trip) { return {stride, trip, false, false}; }
SpreadLevel assumed(int64_t stride) { return {stride, 1u << 20, true, false}; }
SpreadLevel random_draws(uint64_t trip) { return {0, trip, false, true}; }

SpreadReference reference(std::vector<SpreadLevel> levels, uint64_t object = Unbounded,
                          uint64_t element = 8) {
  SpreadReference r;
  r.ElementBytes = element;
  r.ObjectBytes = object;
  r.Levels = std::move(levels);
  return r;
}

/// Calls visit(offset) for each execution of `r`; the outermost loop advances last.
void execute(const SpreadReference &r, const std::function<void(int64_t)> &visit) {
  std::vector<uint64_t> count(r.Levels.size(), 0);
  while (true) {
    int64_t at = 0;
    for (size_t i = 0; i < count.size(); ++i)
      at += r.Levels[i].StrideBytes * static_cast<int64_t>(count[i]);
    visit(at);
    size_t i = 0;
    while (i < count.size() && ++count[i] == r.Levels[i].Trip)
      count[i++] = 0;
    if (i == count.size())
      return;
  }
}

/// Returns the distinct pages of `r` when its first byte is at `start`.
size_t counted_pages(const SpreadReference &r, int64_t start) {
  std::set<int64_t> pages;
  execute(r, [&](int64_t at) {
    for (int64_t byte : {at, at + static_cast<int64_t>(r.ElementBytes) - 1})
      pages.insert((start + byte) / static_cast<int64_t>(Page));
  });
  return pages.size();
}

double counted_pages_on_average(const SpreadReference &r) {
  double sum = 0;
  for (int64_t start = 0; start < static_cast<int64_t>(Page); start += 64)
    sum += static_cast<double>(counted_pages(r, start));
  return sum / (Page / 64);
}

/// A TLB of `reach` pages with least-recently-used replacement.
class LruTlb {
public:
  explicit LruTlb(size_t reach) : reach_(reach) {}
  bool misses(uint64_t page) {
    if (auto it = where_.find(page); it != where_.end()) {
      order_.splice(order_.begin(), order_, it->second);
      return false;
    }
    if (order_.size() == reach_) {
      where_.erase(order_.back());
      order_.pop_back();
    }
    order_.push_front(page);
    where_[page] = order_.begin();
    return true;
  }

private:
  size_t reach_;
  std::list<uint64_t> order_;
  std::unordered_map<uint64_t, std::list<uint64_t>::iterator> where_;
};

/// Returns the misses per access of each reference of a nest. The references have equal trip
/// counts; their objects are far apart.
std::vector<double> simulated_misses(const std::vector<SpreadReference> &nest, size_t reach,
                                     unsigned seed = 1) {
  LruTlb tlb(reach);
  std::mt19937_64 random(seed);
  std::vector<double> misses(nest.size(), 0);
  double executions = 0;
  std::vector<uint64_t> count(nest[0].Levels.size(), 0);
  while (true) {
    ++executions;
    for (size_t k = 0; k < nest.size(); ++k) {
      int64_t at = 0;
      bool irregular = false;
      for (size_t i = 0; i < count.size(); ++i) {
        at += nest[k].Levels[i].StrideBytes * static_cast<int64_t>(count[i]);
        irregular |= nest[k].Levels[i].Irregular;
      }
      if (irregular)
        at = static_cast<int64_t>(random() % (nest[k].ObjectBytes / Page) * Page);
      uint64_t page = (k + 1) * (uint64_t(1) << 40) + static_cast<uint64_t>(at) / Page;
      misses[k] += tlb.misses(page);
    }
    size_t i = 0;
    while (i < count.size() && ++count[i] == nest[0].Levels[i].Trip)
      count[i++] = 0;
    if (i == count.size())
      break;
  }
  for (double &m : misses)
    m /= executions;
  return misses;
}

} // namespace

TEST(PagesTouched, OneBlockIsExact) {
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    // Chooses strides that each leave less than a page between two steps.
    SpreadReference r = reference({});
    int64_t block = 8;
    for (unsigned i = 0, levels = 1 + random() % 3; i < levels; ++i) {
      int64_t stride = 1 + static_cast<int64_t>(random() % static_cast<unsigned>(block + 4000));
      uint64_t trip = 1 + random() % 12;
      r.Levels.push_back(walk(stride, trip));
      // After sorting, each block still has to follow the one before within a page.
      block = std::max<int64_t>(block, 8) + stride * static_cast<int64_t>(trip - 1);
    }
    std::sort(r.Levels.begin(), r.Levels.end(), [](const SpreadLevel &a, const SpreadLevel &b) {
      return a.StrideBytes < b.StrideBytes;
    });
    int64_t reached = 8;
    bool one_block = true;
    for (const SpreadLevel &l : r.Levels) {
      if (l.Trip > 1)
        one_block &= l.StrideBytes - reached < static_cast<int64_t>(Page);
      reached = std::max(reached, l.StrideBytes * static_cast<int64_t>(l.Trip - 1) + reached);
    }
    if (!one_block)
      continue;
    std::shuffle(r.Levels.begin(), r.Levels.end(), random); // the order of levels does not matter
    EXPECT_DOUBLE_EQ(pagesTouched(r, 3, Page), static_cast<double>(counted_pages(r, 0)))
        << "round " << round;
  }
}

TEST(PagesTouched, SeparateBlocksAreTheAverageOverOffsets) {
  std::mt19937 random(11);
  double worst = 0;
  for (int round = 0; round < 200; ++round) {
    const int64_t inner = 8 * (1 + static_cast<int64_t>(random() % 100));
    const uint64_t inner_trip = 1 + random() % 200, outer_trip = 2 + random() % 20;
    const int64_t block = inner * static_cast<int64_t>(inner_trip - 1) + 8;
    const int64_t outer = block + static_cast<int64_t>(Page + random() % 100000);
    SpreadReference r = reference({walk(inner, inner_trip), walk(outer, outer_trip)});
    const double model = pagesTouched(r, 2, Page), truth = counted_pages_on_average(r);
    worst = std::max(worst, std::fabs(model - truth) / truth);
  }
  EXPECT_LT(worst, 0.03) << "relative error of the average number of pages";
}

TEST(PagesTouched, DepthCountsTheInnermostLevelsOnly) {
  SpreadReference r = reference({walk(8, 512), walk(4096, 10), walk(40960, 7)});
  EXPECT_DOUBLE_EQ(pagesTouched(r, 0, Page), 1);
  EXPECT_DOUBLE_EQ(pagesTouched(r, 1, Page), 1);
  EXPECT_DOUBLE_EQ(pagesTouched(r, 2, Page), 10);
  EXPECT_DOUBLE_EQ(pagesTouched(r, 3, Page), 70);
  EXPECT_DOUBLE_EQ(pagesTouched(r, 9, Page), 70);
}

TEST(PagesTouched, NegativeStridesCountLikePositiveOnes) {
  EXPECT_DOUBLE_EQ(pagesTouched(reference({walk(-8, 5120), walk(-65536, 3)}), 2, Page),
                   pagesTouched(reference({walk(8, 5120), walk(65536, 3)}), 2, Page));
}

TEST(PagesTouched, NeverMoreThanTheObject) {
  EXPECT_DOUBLE_EQ(pagesTouched(reference({walk(8192, 1000000)}, 10 * Page), 1, Page), 10);
  EXPECT_DOUBLE_EQ(pagesTouched(reference({walk(8192, 1000000)}, 10 * Page + 1), 1, Page), 11);
  EXPECT_DOUBLE_EQ(pagesTouched(reference({walk(8192, 1000000)}, 0), 1, Page), 1);
  EXPECT_DOUBLE_EQ(pagesTouched(reference({random_draws(1u << 30)}, 10 * Page), 1, Page), 10);
}

TEST(PagesTouched, OverlappingDimensionsAreNoMoreThanTheirSpan) {
  // A 5 x 5 convolution down the columns of an image with rows of 8 KiB: kx, ky, y.
  SpreadReference r = reference({walk(8, 5), walk(8192, 5), walk(8192, 1000)});
  EXPECT_NEAR(pagesTouched(r, 3, Page), counted_pages_on_average(r), 20); // 1004 rows, not 5000
  SpreadReference diagonal = reference({walk(4104, 52), walk(8000, 55)});
  EXPECT_LE(pagesTouched(diagonal, 2, Page), (51 * 4104.0 + 54 * 8000.0) / Page + 2);
}

TEST(PagesTouched, DrawsFollowTheBirthdayFormula) {
  std::mt19937_64 random(3);
  for (uint64_t pages : {2u, 10u, 100u, 1000u})
    for (uint64_t draws : {1u, 5u, 50u, 500u, 5000u}) {
      double sum = 0;
      for (int round = 0; round < 200; ++round) {
        std::set<uint64_t> seen;
        for (uint64_t i = 0; i < draws; ++i)
          seen.insert(random() % pages);
        sum += static_cast<double>(seen.size());
      }
      const double model = pagesTouched(reference({random_draws(draws)}, pages * Page), 1, Page);
      EXPECT_NEAR(model, sum / 200, 0.03 * sum / 200 + 0.1) << draws << " draws of " << pages;
    }
}

TEST(NestSpread, FitsInReachMissesOnceAPage) {
  const SpreadTarget t{Page, 64, 2048};
  SpreadReference r = reference({walk(8, 512), walk(4096, 60), walk(0, 100)});
  SpreadResult s = nestSpread({r}, t)[0];
  EXPECT_DOUBLE_EQ(s.Pages, 60);
  EXPECT_DOUBLE_EQ(s.Accesses, 512.0 * 60 * 100);
  EXPECT_DOUBLE_EQ(s.MissesPerAccess, 60 / (512.0 * 60 * 100));
}

TEST(NestSpread, ColumnWalkBeyondReachMissesAlways) {
  const SpreadTarget t{Page, 64, 2048};
  SpreadReference r = reference({walk(8192, 100), walk(8, 1000)});
  EXPECT_DOUBLE_EQ(nestSpread({r}, t)[0].MissesPerAccess, 1);
  EXPECT_DOUBLE_EQ(nestSpread({r}, t)[0].ExposedPerAccess, 1);
}

TEST(NestSpread, OfStreamsOnlyTheFirstPageOfARunIsExposed) {
  const SpreadTarget t{Page, 64, 2048};
  for (int64_t stride : {1, 8, 64, 512, 1024, 2048, -8, -2048}) {
    SpreadResult s = nestSpread({reference({walk(stride, 1u << 20), walk(0, 10)})}, t)[0];
    const double pages = std::fabs(static_cast<double>(stride)) * (1u << 20) / Page;
    EXPECT_GT(s.MissesPerAccess, 0) << stride;
    EXPECT_NEAR(s.ExposedPerAccess * pages / s.MissesPerAccess, 1, 0.01) << stride;
  }
  EXPECT_GT(nestSpread({reference({walk(2056, 1u << 20), walk(0, 10)})}, t)[0].ExposedPerAccess,
            0.4);
}

TEST(NestSpread, AssumedTripsEndWithTheObject) {
  const SpreadTarget t{Page, 2048, 2048};
  SpreadResult s = nestSpread({reference({assumed(4096), assumed(8)}, 1000 * Page)}, t)[0];
  EXPECT_DOUBLE_EQ(s.Pages, 1000);
  EXPECT_LT(s.MissesPerAccess, 0.01);
}

namespace {

/// Ratios of the model's result to the simulation's, over many nests.
class Ratios {
public:
  void add(double model, double truth) { all_.push_back(model / truth); }
  double quantile(double q) {
    std::sort(all_.begin(), all_.end());
    return all_[static_cast<size_t>(q * static_cast<double>(all_.size() - 1))];
  }
  double within(double factor) const {
    return static_cast<double>(
               std::count_if(all_.begin(), all_.end(),
                             [&](double r) { return r >= 1 / factor && r <= factor; })) /
           static_cast<double>(all_.size());
  }
  void print(const char *of) {
    std::printf("%s, model / simulation: min %.2f, 1 %% %.2f, 5 %% %.2f, median %.3f, 95 %% %.2f, "
                "99 %% %.2f, max %.2f; "
                "%.1f %% within a factor of 2\n",
                of, quantile(0), quantile(.01), quantile(.05), quantile(.5), quantile(.95),
                quantile(.99), quantile(1), 100 * within(2));
  }

private:
  std::vector<double> all_;
};

/// Returns a walk over a dense array of one to three dimensions, its loops in random order and
/// perhaps repeated.
SpreadReference array_walk(std::mt19937 &random) {
  static constexpr int64_t elements[] = {1, 4, 8, 16, 48};
  SpreadReference r = reference({}, Unbounded, static_cast<uint64_t>(elements[random() % 5]));
  auto stride = static_cast<int64_t>(r.ElementBytes);
  for (unsigned i = 0, levels = 1 + random() % 3; i < levels; ++i) {
    const uint64_t trip = i == 0 && random() % 2 ? 100 + random() % 400 : 2 + random() % 40;
    r.Levels.push_back(walk(stride, trip));
    stride *= static_cast<int64_t>(trip);
  }
  if (random() % 2)
    r.Levels.push_back(walk(0, 2 + random() % 10));
  std::shuffle(r.Levels.begin(), r.Levels.end(), random);
  r.ObjectBytes = static_cast<uint64_t>(stride);
  return r;
}

} // namespace

TEST(NestSpread, AgreesWithAnLruTlbOnArrays) {
  std::mt19937 random(31);
  Ratios ratios;
  for (int round = 0; round < 1000; ++round) {
    const SpreadReference r = array_walk(random);
    const size_t reach = size_t(4) << random() % 5;
    ratios.add(nestSpread({r}, {Page, reach, 2048})[0].MissesPerAccess,
               simulated_misses({r}, reach)[0]);
  }
  ratios.print("arrays");
  EXPECT_NEAR(ratios.quantile(0.5), 1, 0.01);
  EXPECT_GT(ratios.quantile(0.05), 0.95);
  EXPECT_LT(ratios.quantile(0.95), 1.05);
  EXPECT_GT(ratios.within(2), 0.985);
}

TEST(NestSpread, AgreesWithAnLruTlbOnAnyStrides) {
  std::mt19937 random(23);
  Ratios ratios;
  for (int round = 0; round < 2000; ++round) {
    SpreadReference r = reference({});
    for (unsigned i = 0, levels = 1 + random() % 3; i < levels; ++i) {
      static constexpr int64_t strides[] = {0,    8,     64,    512,      4096,
                                            4104, 12288, 65536, 8 * 1000, 8 * 4096};
      r.Levels.push_back(walk(strides[random() % 10], 2 + random() % 60));
    }
    const size_t reach = size_t(4) << random() % 5;
    ratios.add(nestSpread({r}, {Page, reach, 2048})[0].MissesPerAccess,
               simulated_misses({r}, reach)[0]);
  }
  ratios.print("any strides");
  EXPECT_NEAR(ratios.quantile(0.5), 1, 0.01);
  EXPECT_GT(ratios.quantile(0.05), 0.9);
  EXPECT_LT(ratios.quantile(0.95), 2.0);
  EXPECT_GT(ratios.within(2), 0.94);
}

TEST(NestSpread, AgreesWithAnLruTlbOnSeveralReferences) {
  std::mt19937 random(29);
  Ratios ratios;
  for (int round = 0; round < 1000; ++round) {
    std::vector<SpreadReference> nest;
    std::vector<uint64_t> trips;
    for (unsigned i = 0, levels = 1 + random() % 3; i < levels; ++i)
      trips.push_back(2 + random() % 40);
    for (unsigned k = 0, references = 2 + random() % 3; k < references; ++k) {
      SpreadReference r = reference({});
      for (uint64_t trip : trips) {
        static constexpr int64_t strides[] = {0, 8, 64, 4096, 12288, 65536, 8 * 1000};
        r.Levels.push_back(walk(strides[random() % 7], trip));
      }
      nest.push_back(r);
    }
    const size_t reach = size_t(8) << random() % 5;
    const std::vector<double> truth = simulated_misses(nest, reach);
    const std::vector<SpreadResult> model = nestSpread(nest, {Page, reach, 2048});
    double all_truth = 0, all_model = 0;
    for (size_t k = 0; k < nest.size(); ++k) {
      all_truth += truth[k];
      all_model += model[k].MissesPerAccess;
    }
    ratios.add(all_model, all_truth);
  }
  ratios.print("several references");
  EXPECT_NEAR(ratios.quantile(0.5), 1, 0.02);
  EXPECT_GT(ratios.quantile(0.05), 0.9);
  EXPECT_GT(ratios.within(2), 0.9);
}

TEST(NestSpread, AgreesWithAnLruTlbOnDraws) {
  for (uint64_t pages : {20u, 60u, 64u, 70u, 100u, 200u, 1000u}) {
    SpreadReference r = reference({random_draws(100000)}, pages * Page);
    const double truth = simulated_misses({r}, 64)[0];
    const double model = nestSpread({r}, {Page, 64, 2048})[0].MissesPerAccess;
    EXPECT_NEAR(model, truth, 0.02) << pages << " pages";
  }
}

TEST(PaperSpread, TransposeOf128Fits129DoesNot) {
  auto spread = [](uint64_t n) {
    const uint64_t object = n * n * 8;
    const auto row = static_cast<int64_t>(n * 8);
    return paperSpread(reference({walk(8, n), walk(row, n)}, object), Page) +
           paperSpread(reference({walk(row, n), walk(8, n)}, object), Page);
  };
  EXPECT_DOUBLE_EQ(spread(128), 64);
  EXPECT_LT(spread(128), 65);
  EXPECT_GE(spread(129), 65);
  EXPECT_LE(spread(129), 66);
  EXPECT_LT(spread(50), 65) << "without the clamp to the object 50 x 50 would pass";
  for (uint64_t n = 50; n <= 300; ++n)
    EXPECT_EQ(spread(n) >= 65, n >= 129) << n;
}

TEST(PaperSpread, ClampsEachReferenceToItsObject) {
  EXPECT_DOUBLE_EQ(paperSpread(reference({walk(400, 50), walk(8, 50)}, 20000), Page), 5);
  EXPECT_DOUBLE_EQ(paperSpread(reference({walk(400, 50), walk(8, 50)}), Page), 2500);
}

TEST(PaperSpread, IndependentReferencesAreOne) {
  EXPECT_DOUBLE_EQ(paperSpread(reference({}), Page), 1);
  EXPECT_DOUBLE_EQ(paperSpread(reference({walk(0, 1000), walk(0, 1000)}), Page), 1);
}

TEST(PaperSpread, ContiguousIsIterationsTimesStepByPage) {
  EXPECT_DOUBLE_EQ(paperSpread(reference({walk(8, 5120)}), Page), 10);
  EXPECT_DOUBLE_EQ(paperSpread(reference({walk(8, 5120), walk(40960, 3)}), Page), 30);
  EXPECT_DOUBLE_EQ(paperSpread(reference({walk(8, 100)}), Page), 800.0 / 4096)
      << "a row shorter than a page";
  EXPECT_DOUBLE_EQ(paperSpread(reference({walk(4096, 100)}), Page), 100);
}

TEST(PaperSpread, OuterLoopsCountOnlyWhereTheReferenceVaries) {
  EXPECT_DOUBLE_EQ(paperSpread(reference({walk(8, 5120), walk(0, 77)}), Page), 10);
  EXPECT_DOUBLE_EQ(paperSpread(reference({walk(0, 77), walk(8, 5120)}), Page), 10);
}

TEST(SmallestPayingBytes, IsTheBorder) {
  const double walk_cycles = 35, least = 1;
  for (uint64_t reach : {64u, 2048u, 3072u})
    for (const SpreadReference &r :
         {reference({assumed(4096), assumed(8)}), reference({assumed(8192), walk(0, 100)}),
          reference({random_draws(uint64_t(1) << 40)})}) {
      const SpreadTarget t{Page, reach, 2048};
      auto cost = [&](uint64_t pages) {
        SpreadReference sized = r;
        sized.ObjectBytes = pages * Page;
        return nestSpread({sized}, t)[0].ExposedPerAccess * walk_cycles;
      };
      const uint64_t border = smallestPayingBytes(r, t, walk_cycles, least);
      ASSERT_NE(border, UINT64_MAX);
      ASSERT_EQ(border % Page, 0u);
      const uint64_t pages = border / Page;
      EXPECT_GE(cost(pages), least);
      EXPECT_LT(cost(pages - 1), least);
      EXPECT_GT(pages, reach) << "an object within reach never pays";
      for (uint64_t more = pages; more < 64 * pages; more = more * 5 / 4 + 1)
        EXPECT_GE(cost(more), least) << more << " pages, border " << pages;
      for (uint64_t fewer = pages - 1; fewer > 0; fewer = fewer * 3 / 4)
        EXPECT_LT(cost(fewer), least) << fewer << " pages, border " << pages;
    }
}

TEST(SmallestPayingBytes, GrowsWithReachAndWithTheLeastSaving) {
  SpreadReference r = reference({random_draws(uint64_t(1) << 40)});
  uint64_t before = 0;
  for (uint64_t reach : {64u, 512u, 2048u, 4096u}) {
    const uint64_t border = smallestPayingBytes(r, {Page, reach, 2048}, 35, 1);
    EXPECT_GT(border, before);
    before = border;
  }
  before = 0;
  for (double least : {0.5, 1.0, 5.0, 20.0, 34.0}) {
    const uint64_t border = smallestPayingBytes(r, {Page, 2048, 2048}, 35, least);
    EXPECT_GE(border, before);
    before = border;
  }
}

TEST(SmallestPayingBytes, NeverForStreamsOrCheapWalks) {
  EXPECT_EQ(smallestPayingBytes(reference({assumed(8), walk(0, 100)}), {Page, 2048, 2048}, 35, 1),
            UINT64_MAX);
  EXPECT_EQ(
      smallestPayingBytes(reference({random_draws(uint64_t(1) << 40)}), {Page, 2048, 2048}, 0.5, 1),
      UINT64_MAX);
}
