// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ladder of page sizes, every refusal of the system injected: what a request gets, what is
// counted, and that one line says so.
#include "smalloc/core/big_objects.h"
#include "tests/unit/core/fake_os.h"

#include <cerrno>
#include <gtest/gtest.h>

namespace smalloc {
namespace {
constexpr size_t kMiB = 1 << 20, kGiB = 1 << 30;

struct LadderTest : testing::Test {
  void SetUp() override { FakeOs::reset(); }
  void start(PageBacking asked, uint64_t budget = 0) {
    FakeOs::make_ladder(ladder, counters, asked);
    Region::Config c = FakeOs::config();
    c.bytes = size_t{64} << 30;
    c.thp_allowed = ladder.superpages();
    c.superpages_allowed = ladder.superpages() || ladder.pools();
    c.medium_advice = ladder.advises_medium() && !ladder.primes_medium();
    c.budget.bytes = budget * kSuperpageBytes;
    ASSERT_TRUE(region.init(c, counters) && big.init(region, ladder, {0}));
  }
  char *make(size_t bytes) {
    BigRequest r;
    r.bytes = bytes;
    r.superpages_at_birth = true;
    return static_cast<char *>(big.allocate(r));
  }
  uint64_t on(PageKind k) { return counters.requests_on[static_cast<unsigned>(k)].get(); }
  uint64_t not_on(PageKind k, WhyNot w) {
    return counters.not_on[static_cast<unsigned>(k)][static_cast<unsigned>(w)].get();
  }
  uint64_t pool_units(PageKind k) { return counters.pool_units[static_cast<unsigned>(k)].get(); }
  std::string warning() {
    TextBuffer<512> text;
    return ladder.wants_to_warn() && ladder.take_warning(text)
               ? std::string(text.data(), text.size())
               : "";
  }
  Counters counters;
  Region region;
  Ladder ladder;
  BigObjects big;
};

TEST_F(LadderTest, TransparentSuperpagesAreTheDefaultAndSilent) {
  start(PageBacking::kThp);
  EXPECT_TRUE(ladder.superpages() && !ladder.pools() && !ladder.medium());
  make(10 * kMiB);
  EXPECT_EQ(on(PageKind::kSuperpage), 1u);
  EXPECT_EQ(warning(), "");
  EXPECT_TRUE(FakeOs::pooled.empty());
}
TEST_F(LadderTest, PoolServesAndGetsItsPagesBack) {
  start(PageBacking::kHugetlb);
  char *p = make(10 * kMiB);
  ASSERT_EQ(FakeOs::pooled.size(), 1u);
  EXPECT_EQ(FakeOs::pooled.begin()->second.bytes, 10 * kMiB);
  EXPECT_EQ(FakeOs::pooled.begin()->second.page, 2 * kMiB);
  EXPECT_EQ(pool_units(PageKind::kHugetlb), 5u);
  EXPECT_EQ(on(PageKind::kHugetlb), 1u);
  EXPECT_EQ(counters.superpages_now.get(), 5u);
  EXPECT_EQ(big.resize(p, 30 * kMiB), nullptr); // pool pages do not move
  EXPECT_TRUE(big.release(p));
  EXPECT_TRUE(FakeOs::pooled.empty());
  EXPECT_EQ(pool_units(PageKind::kHugetlb), 0u);
  EXPECT_EQ(counters.superpages_now.get(), 0u);
  EXPECT_TRUE(big.check_invariants());
  EXPECT_EQ(warning(), "");
}
TEST_F(LadderTest, ExhaustedPoolFallsBackWithOneLine) {
  FakeOs::hugetlb_error = ENOMEM;
  start(PageBacking::kHugetlb);
  for (int i = 0; i < 3; i++)
    ASSERT_NE(make(10 * kMiB), nullptr);
  EXPECT_EQ(on(PageKind::kSuperpage), 3u);
  EXPECT_EQ(not_on(PageKind::kHugetlb, WhyNot::kPoolEmpty), 3u);
  EXPECT_EQ(warning(), "pages:hugetlb: the pool has no free pages of 2 MiB (sysctl "
                       "vm.nr_hugepages=N); transparent huge pages are used");
  make(10 * kMiB);
  EXPECT_EQ(warning(), "");
  EXPECT_TRUE(big.check_invariants());
}
TEST_F(LadderTest, PoolThatHasSomePagesGivesThem) {
  size_t free_pages = 3;
  FakeOs::map_hugetlb_result = [&](size_t bytes, size_t page) {
    if (bytes / page > free_pages)
      return ENOMEM;
    free_pages -= bytes / page;
    return 0;
  };
  start(PageBacking::kHugetlb);
  char *p = make(10 * kMiB);
  EXPECT_EQ(pool_units(PageKind::kHugetlb), 2u); // 5, then 2
  EXPECT_EQ(counters.superpages_now.get(), 5u);  // the rest transparent
  EXPECT_TRUE(big.release(p) && big.check_invariants());
  EXPECT_EQ(counters.superpages_now.get(), 0u);
}
TEST_F(LadderTest, CgroupLimitIsToldFromAnEmptyPool) {
  FakeOs::hugetlb_error = EFAULT;
  start(PageBacking::kHugetlb);
  ASSERT_NE(make(10 * kMiB), nullptr);
  EXPECT_EQ(not_on(PageKind::kHugetlb, WhyNot::kLimit), 1u);
  EXPECT_NE(warning().find("limit of the cgroup"), std::string::npos);
}
TEST_F(LadderTest, SandboxThatForbidsTheMapping) {
  FakeOs::hugetlb_error = EPERM;
  start(PageBacking::kHugetlb);
  ASSERT_NE(make(10 * kMiB), nullptr);
  EXPECT_EQ(not_on(PageKind::kHugetlb, WhyNot::kRefused), 1u);
}
TEST_F(LadderTest, NoLibraryNoSize) {
  FakeOs::open_hugetlb_result = [](size_t page) { return page == kGiB ? EINVAL : ENOENT; };
  start(PageBacking::kGigantic);
  EXPECT_FALSE(ladder.pools());
  EXPECT_EQ(not_on(PageKind::kGigantic, WhyNot::kNoSuchSize), 1u);
  EXPECT_EQ(not_on(PageKind::kHugetlb, WhyNot::kNoLibrary), 1u);
  EXPECT_EQ(warning(), "pages:1g: the kernel has no hugetlb pages of 1 GiB; transparent huge pages "
                       "are used");
  ASSERT_NE(make(3 * kGiB), nullptr);
  EXPECT_EQ(on(PageKind::kSuperpage), 1u);
}
TEST_F(LadderTest, GiganticPagesThenSmallerOnes) {
  start(PageBacking::kGigantic);
  char *p = make(2 * kGiB + 512 * kMiB);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(p) / kGiB * kGiB,
            reinterpret_cast<uintptr_t>(FakeOs::pooled.begin()->first));
  ASSERT_EQ(FakeOs::pooled.size(), 2u);
  EXPECT_EQ(FakeOs::pooled.begin()->second.page, kGiB);
  EXPECT_EQ(FakeOs::pooled.begin()->second.bytes, 2 * kGiB);
  EXPECT_EQ(FakeOs::pooled.rbegin()->second.page, 2 * kMiB);
  EXPECT_EQ(pool_units(PageKind::kGigantic), 1024u);
  EXPECT_EQ(pool_units(PageKind::kHugetlb), 256u);
  char *small = make(10 * kMiB); // too small for a page of 1 GiB: that is no fallback
  EXPECT_EQ(on(PageKind::kGigantic), 1u);
  EXPECT_EQ(on(PageKind::kHugetlb), 1u);
  EXPECT_EQ(warning(), "");
  EXPECT_TRUE(big.release(p) && big.release(small) && FakeOs::pooled.empty());
  EXPECT_TRUE(big.check_invariants());
}
TEST_F(LadderTest, GiganticPoolEmptyTakesTheOther) {
  FakeOs::map_hugetlb_result = [](size_t, size_t page) { return page == kGiB ? ENOMEM : 0; };
  start(PageBacking::kGigantic);
  make(2 * kGiB);
  EXPECT_EQ(on(PageKind::kHugetlb), 1u);
  EXPECT_EQ(not_on(PageKind::kGigantic, WhyNot::kPoolEmpty), 1u);
  EXPECT_NE(warning().find("hugetlb pages of 2 MiB are used"), std::string::npos);
}
TEST_F(LadderTest, NeverIsObeyed) {
  FakeOs::set_thp("never");
  start(PageBacking::kThp);
  EXPECT_FALSE(ladder.any());
  EXPECT_EQ(not_on(PageKind::kSuperpage, WhyNot::kSwitchedOff), 1u);
  EXPECT_EQ(warning(), "pages:thp: transparent huge pages are switched off (echo madvise > "
                       "/sys/kernel/mm/transparent_hugepage/enabled); base pages are used");
  char *p = make(10 * kMiB);
  EXPECT_EQ(on(PageKind::kBase), 1u);
  EXPECT_EQ(counters.superpages_now.get(), 0u);
  uint64_t took;
  EXPECT_NE(region.promote(p, took), 0);
  EXPECT_TRUE(FakeOs::collapsed.empty());
}
TEST_F(LadderTest, NeverWithAPoolUsesThePoolOnly) {
  FakeOs::set_thp("never");
  size_t calls = 0;
  FakeOs::map_hugetlb_result = [&](size_t, size_t) { return calls++ ? ENOMEM : 0; };
  start(PageBacking::kHugetlb);
  char *p = make(10 * kMiB), *q = make(10 * kMiB);
  EXPECT_EQ(on(PageKind::kHugetlb), 1u);
  EXPECT_EQ(on(PageKind::kBase), 1u);
  EXPECT_EQ(counters.superpages_now.get(), 5u);
  uint64_t took;
  EXPECT_NE(region.promote(q, took), 0);
  EXPECT_TRUE(big.release(p) && big.release(q) && big.check_invariants());
  EXPECT_EQ(counters.superpages_now.get(), 0u);
}
TEST_F(LadderTest, MediumPagesWhereTheKernelHasThem) {
  FakeOs::set_thp("never", "madvise");
  start(PageBacking::kThp); // falls to 64 KiB
  EXPECT_TRUE(ladder.medium() && !ladder.primes_medium());
  ASSERT_NE(make(10 * kMiB), nullptr);
  EXPECT_EQ(on(PageKind::kMedium), 1u);
  EXPECT_EQ(counters.superpages_now.get(), 0u);
  EXPECT_GT(FakeOs::advices, 0u);
  EXPECT_NE(warning().find("pages of 64 KiB are used"), std::string::npos);
}
TEST_F(LadderTest, MediumPagesBesideSuperpagesArePrimed) {
  FakeOs::set_thp("madvise", "madvise");
  start(PageBacking::kMedium);
  EXPECT_TRUE(ladder.medium() && ladder.primes_medium());
  unsigned before = FakeOs::advices;
  char *p = make(10 * kMiB);
  EXPECT_EQ(on(PageKind::kMedium), 1u);
  EXPECT_EQ(FakeOs::advices, before + 1);
  EXPECT_EQ(warning(), "");
  EXPECT_TRUE(big.release(p) && big.check_invariants());
}
TEST_F(LadderTest, MediumPagesSwitchedOff) {
  start(PageBacking::kMedium);
  EXPECT_FALSE(ladder.any());
  EXPECT_NE(warning().find("hugepages-64kB/enabled); base pages are used"), std::string::npos);
}
TEST_F(LadderTest, NoSysMeansNoPromise) {
  FakeOs::files.clear();
  start(PageBacking::kThp);
  EXPECT_FALSE(ladder.any());
  EXPECT_EQ(not_on(PageKind::kSuperpage, WhyNot::kNoSuchSize), 1u);
  EXPECT_NE(make(10 * kMiB), nullptr);
}
TEST_F(LadderTest, OldKernelHasOneSwitch) {
  FakeOs::files.erase("/sys/kernel/mm/transparent_hugepage/hugepages-2048kB/enabled");
  FakeOs::files.erase("/sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled");
  start(PageBacking::kThp);
  EXPECT_TRUE(ladder.superpages());
}
TEST_F(LadderTest, RefusedAdviceStaysOnBasePages) {
  FakeOs::advise_error = EPERM;
  start(PageBacking::kThp);
  char *p = make(10 * kMiB);
  ASSERT_NE(p, nullptr);
  EXPECT_EQ(on(PageKind::kBase), 1u);
  EXPECT_EQ(not_on(PageKind::kSuperpage, WhyNot::kRefused), 1u);
  EXPECT_EQ(counters.superpages_now.get(), 0u);
  EXPECT_NE(warning().find("refuses"), std::string::npos);
  EXPECT_TRUE(big.release(p) && big.check_invariants());
}
TEST_F(LadderTest, RefusedMemoryIsSaid) {
  start(PageBacking::kThp);
  FakeOs::refuse_commits_after = 0;
  EXPECT_EQ(make(10 * kMiB), nullptr);
  EXPECT_EQ(not_on(PageKind::kBase, WhyNot::kNoMemory), 1u);
  EXPECT_NE(warning().find("overcommit_memory=2"), std::string::npos);
}
TEST_F(LadderTest, BudgetIsCountedAndSilent) {
  start(PageBacking::kThp, 3);
  make(10 * kMiB);
  EXPECT_EQ(not_on(PageKind::kSuperpage, WhyNot::kBudget), 1u);
  EXPECT_EQ(on(PageKind::kBase), 1u);
  EXPECT_EQ(warning(), "");
}
TEST_F(LadderTest, PoolRunsAreVisitedOnceAndForgotten) {
  start(PageBacking::kGigantic);
  char *p = make(kGiB + 512 * kMiB), *q = make(10 * kMiB);
  auto visit = [](char *run, size_t bytes, void *seen) {
    auto at = FakeOs::pooled.find(run);
    EXPECT_TRUE(at != FakeOs::pooled.end() && at->second.bytes == bytes);
    return ++*static_cast<unsigned *>(seen) < 3;
  };
  unsigned seen = 0;
  big.lock_all();
  EXPECT_FALSE(big.for_each_pool_run(visit, &seen)); // the third says stop
  EXPECT_EQ(seen, 3u);
  big.forget_pools();
  seen = 0;
  EXPECT_TRUE(big.for_each_pool_run(visit, &seen));
  EXPECT_EQ(seen, 0u);
  big.unlock_all();
  EXPECT_EQ(pool_units(PageKind::kGigantic), 0u);
  EXPECT_TRUE(big.release(p) && big.release(q) && big.check_invariants());
  EXPECT_EQ(counters.superpages_now.get(), 0u);
}
} // namespace
} // namespace smalloc
