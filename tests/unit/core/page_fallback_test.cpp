// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// page_fallback_test.cpp tests the fallback between page sizes with every refusal of the system
// injected: what a request gets, what is counted, and that one warning line reports it.
#include "smalloc/big/big_objects.h"
#include "tests/unit/core/fake_os.h"

#include <cerrno>
#include <gtest/gtest.h>

namespace smalloc {
namespace {
constexpr size_t kMiB = 1 << 20, kGiB = 1 << 30;

struct PageFallbackTest : testing::Test {
  void SetUp() override { FakeOs::reset(); }
  void start(PageBacking asked, uint64_t budget = 0, bool directed_gigantic = false) {
    asks.asked = asked;
    asks.directed_gigantic = directed_gigantic;
    page_fallback.init(FakeOs::hooks(), asks, counters);
    Region::Config c = FakeOs::config();
    c.bytes = size_t{64} << 30;
    c.thp_allowed = page_fallback.superpages();
    c.superpages_allowed = page_fallback.superpages() || page_fallback.pools(PageKind::kGigantic);
    c.medium_advice = page_fallback.advises_medium() && !page_fallback.primes_medium();
    c.budget.bytes = budget * kSuperpageBytes;
    ASSERT_TRUE(region.init(c, counters) && big.init(region, page_fallback, {0}));
  }
  char *make(size_t bytes, PageKind first = PageKind::kSuperpage) {
    BigRequest r;
    r.bytes = bytes;
    r.superpages_at_first_touch = true;
    r.first = first;
    return static_cast<char *>(big.allocate(r));
  }
  uint64_t on(PageKind k) { return counters.requests_on[static_cast<unsigned>(k)].get(); }
  uint64_t not_on(PageKind k, WhyNot w) {
    return counters.not_on[static_cast<unsigned>(k)][static_cast<unsigned>(w)].get();
  }
  uint64_t pool_units(PageKind k) { return counters.pool_units[static_cast<unsigned>(k)].get(); }
  std::string warning() {
    TextBuffer<512> text;
    return page_fallback.wants_to_warn() && page_fallback.take_warning(text)
               ? std::string(text.data(), text.size())
               : "";
  }
  PageFallback::Config asks; ///< settings that start() does not name
  Counters counters;
  Region region;
  PageFallback page_fallback;
  BigObjects big;
};

TEST_F(PageFallbackTest, TransparentSuperpagesAreTheDefaultAndSilent) {
  start(PageBacking::kThp);
  EXPECT_TRUE(page_fallback.superpages() && !page_fallback.pools() && !page_fallback.medium());
  make(10 * kMiB);
  EXPECT_EQ(on(PageKind::kSuperpage), 1u);
  EXPECT_EQ(warning(), "");
  EXPECT_TRUE(FakeOs::pooled.empty());
}
TEST_F(PageFallbackTest, PoolServesAndGetsItsPagesBack) {
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
  EXPECT_EQ(region.charged_superpages(), 0u);
  EXPECT_TRUE(big.check_invariants());
  EXPECT_EQ(warning(), "");
}
TEST_F(PageFallbackTest, ShareOfThePoolIsKept) {
  asks.most_pool_units = 5;
  start(PageBacking::kHugetlb);
  for (const UnitIndex expected : {3u, 2u, 0u})
    EXPECT_EQ(page_fallback.take_pool_pages(nullptr, 3, PageKind::kHugetlb).hugetlb_units,
              expected);
  EXPECT_EQ(not_on(PageKind::kHugetlb, WhyNot::kBudget), 2u);
  EXPECT_EQ(warning(), ""); // the user chose it
}
TEST_F(PageFallbackTest, ShareOfEmptyPoolsIsSaid) {
  asks.most_pool_units = 0;
  start(PageBacking::kHugetlb);
  EXPECT_EQ(warning(), "pages:hugetlb: the pool has no free pages of 2 MiB (sysctl "
                       "vm.nr_hugepages=N); transparent huge pages are used");
}
TEST_F(PageFallbackTest, WhatTheProcessMayNotHaveIsSaid) {
  FakeOs::disabled = true;
  asks.force = true;
  start(PageBacking::kThp);
  EXPECT_FALSE(page_fallback.any());
  EXPECT_EQ(warning(),
            "pages:thp: transparent huge pages are disabled for this process (PR_SET_THP_DISABLE, "
            "set by the process or an ancestor); base pages are used");
}
TEST_F(PageFallbackTest, ExhaustedPoolFallsBackWithOneLine) {
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
TEST_F(PageFallbackTest, PoolThatHasSomePagesGivesThem) {
  size_t free_pages = 3;
  FakeOs::map_hugetlb_result = [&](size_t bytes, size_t page) {
    if (bytes / page > free_pages)
      return ENOMEM;
    free_pages -= bytes / page;
    return 0;
  };
  start(PageBacking::kHugetlb);
  char *p = make(10 * kMiB);
  EXPECT_EQ(pool_units(PageKind::kHugetlb), 2u); // 5 requested, then 2
  EXPECT_EQ(counters.superpages_now.get(), 5u);  // the rest transparent
  EXPECT_TRUE(big.release(p) && big.check_invariants());
  EXPECT_EQ(counters.superpages_now.get(), 0u);
  EXPECT_EQ(region.charged_superpages(), 0u);
}
TEST_F(PageFallbackTest, CgroupLimitIsToldFromAnEmptyPool) {
  FakeOs::hugetlb_error = EFAULT;
  start(PageBacking::kHugetlb);
  ASSERT_NE(make(10 * kMiB), nullptr);
  EXPECT_EQ(not_on(PageKind::kHugetlb, WhyNot::kLimit), 1u);
  EXPECT_NE(warning().find("limit of the cgroup"), std::string::npos);
}
TEST_F(PageFallbackTest, SandboxThatForbidsTheMapping) {
  FakeOs::hugetlb_error = EPERM;
  start(PageBacking::kHugetlb);
  ASSERT_NE(make(10 * kMiB), nullptr);
  EXPECT_EQ(not_on(PageKind::kHugetlb, WhyNot::kRefused), 1u);
}
TEST_F(PageFallbackTest, NoLibraryNoSize) {
  FakeOs::open_hugetlb_result = [](size_t page) { return page == kGiB ? EINVAL : ENOENT; };
  start(PageBacking::kGigantic);
  EXPECT_FALSE(page_fallback.pools());
  EXPECT_EQ(not_on(PageKind::kGigantic, WhyNot::kNoSuchSize), 1u);
  EXPECT_EQ(not_on(PageKind::kHugetlb, WhyNot::kNoLibrary), 1u);
  EXPECT_EQ(warning(), "pages:1g: the kernel has no hugetlb pages of 1 GiB; transparent huge pages "
                       "are used");
  ASSERT_NE(make(3 * kGiB), nullptr);
  EXPECT_EQ(on(PageKind::kSuperpage), 1u);
}
TEST_F(PageFallbackTest, GiganticPagesThenSmallerOnes) {
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
TEST_F(PageFallbackTest, GiganticPoolEmptyTakesTheOther) {
  FakeOs::map_hugetlb_result = [](size_t, size_t page) { return page == kGiB ? ENOMEM : 0; };
  start(PageBacking::kGigantic);
  make(2 * kGiB);
  EXPECT_EQ(on(PageKind::kHugetlb), 1u);
  EXPECT_EQ(not_on(PageKind::kGigantic, WhyNot::kPoolEmpty), 1u);
  EXPECT_NE(warning().find("hugetlb pages of 2 MiB are used"), std::string::npos);
}
TEST_F(PageFallbackTest, NeverIsObeyed) {
  FakeOs::set_thp("never");
  start(PageBacking::kThp);
  EXPECT_FALSE(page_fallback.any());
  EXPECT_EQ(not_on(PageKind::kSuperpage, WhyNot::kSwitchedOff), 1u);
  EXPECT_EQ(warning(), "pages:thp: transparent huge pages are switched off (echo madvise > "
                       "/sys/kernel/mm/transparent_hugepage/enabled); base pages are used");
  char *p = make(10 * kMiB);
  EXPECT_EQ(on(PageKind::kBase), 1u);
  EXPECT_EQ(counters.superpages_now.get(), 0u);
  EXPECT_EQ(region.charged_superpages(), 0u);
  uint64_t took;
  EXPECT_NE(region.promote(p, took), 0);
  EXPECT_TRUE(FakeOs::collapsed.empty());
}
TEST_F(PageFallbackTest, NeverWithAPoolUsesThePoolOnly) {
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
  EXPECT_EQ(region.charged_superpages(), 0u);
}
TEST_F(PageFallbackTest, MediumPagesWhereTheKernelHasThem) {
  FakeOs::set_thp("never", "madvise");
  start(PageBacking::kThp); // falls back to 64 KiB
  EXPECT_TRUE(page_fallback.medium() && !page_fallback.primes_medium());
  ASSERT_NE(make(10 * kMiB), nullptr);
  EXPECT_EQ(on(PageKind::kMedium), 1u);
  EXPECT_EQ(counters.superpages_now.get(), 0u);
  EXPECT_EQ(region.charged_superpages(), 0u);
  EXPECT_GT(FakeOs::advices, 0u);
  EXPECT_NE(warning().find("pages of 64 KiB are used"), std::string::npos);
}
TEST_F(PageFallbackTest, MediumPagesBesideSuperpagesArePrimed) {
  FakeOs::set_thp("madvise", "madvise");
  start(PageBacking::kMedium);
  EXPECT_TRUE(page_fallback.medium() && page_fallback.primes_medium());
  unsigned before = FakeOs::advices;
  char *p = make(10 * kMiB);
  EXPECT_EQ(on(PageKind::kMedium), 1u);
  EXPECT_EQ(FakeOs::advices, before + 1);
  EXPECT_EQ(warning(), "");
  EXPECT_TRUE(big.release(p) && big.check_invariants());
}
TEST_F(PageFallbackTest, MediumPagesSwitchedOff) {
  start(PageBacking::kMedium);
  EXPECT_FALSE(page_fallback.any());
  EXPECT_NE(warning().find("hugepages-64kB/enabled); base pages are used"), std::string::npos);
}
TEST_F(PageFallbackTest, NoSysMeansNoPromise) {
  FakeOs::files.clear();
  start(PageBacking::kThp);
  EXPECT_FALSE(page_fallback.any());
  EXPECT_EQ(not_on(PageKind::kSuperpage, WhyNot::kNoSuchSize), 1u);
  EXPECT_NE(make(10 * kMiB), nullptr);
}
TEST_F(PageFallbackTest, OldKernelHasOneSwitch) {
  FakeOs::files.erase("/sys/kernel/mm/transparent_hugepage/hugepages-2048kB/enabled");
  FakeOs::files.erase("/sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled");
  start(PageBacking::kThp);
  EXPECT_TRUE(page_fallback.superpages());
}
TEST_F(PageFallbackTest, RefusedAdviceStaysOnBasePages) {
  FakeOs::advise_error = EPERM;
  start(PageBacking::kThp);
  char *p = make(10 * kMiB);
  ASSERT_NE(p, nullptr);
  EXPECT_EQ(on(PageKind::kBase), 1u);
  EXPECT_EQ(not_on(PageKind::kSuperpage, WhyNot::kRefused), 1u);
  EXPECT_EQ(counters.superpages_now.get(), 0u);
  EXPECT_EQ(region.charged_superpages(), 0u);
  EXPECT_NE(warning().find("refuses"), std::string::npos);
  EXPECT_TRUE(big.release(p) && big.check_invariants());
}
TEST_F(PageFallbackTest, RefusedMemoryIsSaid) {
  start(PageBacking::kThp);
  FakeOs::refuse_commits_after = 0;
  EXPECT_EQ(make(10 * kMiB), nullptr);
  EXPECT_EQ(not_on(PageKind::kBase, WhyNot::kNoMemory), 1u);
  EXPECT_NE(warning().find("overcommit_memory=2"), std::string::npos);
}
TEST_F(PageFallbackTest, BudgetIsCountedAndSilent) {
  start(PageBacking::kThp, 3);
  make(10 * kMiB);
  EXPECT_EQ(not_on(PageKind::kSuperpage, WhyNot::kBudget), 1u);
  EXPECT_EQ(on(PageKind::kBase), 1u);
  EXPECT_EQ(warning(), "");
}
TEST_F(PageFallbackTest, PoolRunsAreVisitedOnceAndForgotten) {
  start(PageBacking::kGigantic);
  char *p = make(kGiB + 512 * kMiB), *q = make(10 * kMiB);
  auto visit = [](char *run, size_t bytes, void *seen) {
    auto at = FakeOs::pooled.find(run);
    EXPECT_TRUE(at != FakeOs::pooled.end() && at->second.bytes == bytes);
    return ++*static_cast<unsigned *>(seen) < 3;
  };
  unsigned seen = 0;
  big.lock_all();
  EXPECT_FALSE(big.for_each_pool_run(visit, &seen)); // the third call returns false
  EXPECT_EQ(seen, 3u);
  big.forget_pools();
  seen = 0;
  EXPECT_TRUE(big.for_each_pool_run(visit, &seen));
  EXPECT_EQ(seen, 0u);
  big.unlock_all();
  EXPECT_EQ(pool_units(PageKind::kGigantic), 0u);
  EXPECT_TRUE(big.release(p) && big.release(q) && big.check_invariants());
  EXPECT_EQ(counters.superpages_now.get(), 0u);
  EXPECT_EQ(region.charged_superpages(), 0u);
}

// Directives: each object has a first step of its own.

TEST_F(PageFallbackTest, DirectedMediumPagesGetAdviceOfTheirOwn) {
  FakeOs::set_thp("madvise", "madvise");
  start(PageBacking::kThp);
  EXPECT_FALSE(page_fallback.medium()); // others get superpages
  char *p = make(10 * kMiB + 100, PageKind::kMedium), *q = make(10 * kMiB);
  EXPECT_EQ(region.slice_of(p), Slice::kBigBase);
  EXPECT_EQ(big.like(p, 1).first, PageKind::kMedium);
  char *start = region.unit_address(Slice::kBigBase, region.unit_of(Slice::kBigBase, p));
  ASSERT_EQ(FakeOs::advised.count(start), 1u); // with its tail
  EXPECT_GE(FakeOs::advised[start], static_cast<size_t>(p - start) + 10 * kMiB + 100);
  EXPECT_EQ(on(PageKind::kMedium), 1u);
  EXPECT_EQ(on(PageKind::kSuperpage), 1u);
  EXPECT_EQ(counters.superpages_now.get(), 5u); // the other's
  EXPECT_EQ(counters.directed_mthp.get(), 1u);
  EXPECT_EQ(counters.directed_mthp_got.get(), 1u);
  EXPECT_EQ(big.pending(), 0u); // and never superpages
  big.make_pending(big.find(p));
  EXPECT_EQ(big.pending(), 0u);
  EXPECT_EQ(warning(), "");
  EXPECT_TRUE(big.release(p) && big.release(q) && big.check_invariants());
}
TEST_F(PageFallbackTest, DirectedMediumPagesGrowAndAreNotReused) {
  FakeOs::set_thp("madvise", "madvise");
  start(PageBacking::kThp);
  char *p = make(4 * kMiB, PageKind::kMedium);
  p[0] = 1;
  p[4 * kMiB - 1] = 2;
  const size_t before = FakeOs::advised.size();
  char *r = static_cast<char *>(big.resize(p, 9 * kMiB));
  ASSERT_EQ(r, p); // the units behind it are free
  EXPECT_EQ(FakeOs::advised.size(), before + 1);
  EXPECT_TRUE(r[0] == 1 && r[4 * kMiB - 1] == 2);
  EXPECT_EQ(big.pending(), 0u);
  char *next = make(8 * kMiB, PageKind::kMedium);
  char *moved = static_cast<char *>(big.resize(r, 20 * kMiB));
  ASSERT_TRUE(moved && moved != r); // the next one is in the way
  EXPECT_TRUE(moved[0] == 1 && moved[4 * kMiB - 1] == 2);
  EXPECT_EQ(big.like(moved, 1).first, PageKind::kMedium);
  EXPECT_EQ(big.pending(), 0u);
  r = static_cast<char *>(big.resize(moved, 3 * kMiB));
  ASSERT_NE(r, nullptr);
  EXPECT_TRUE(r[0] == 1 && big.release(r) && big.release(next));
  EXPECT_EQ(big.trim(), 0u); // an object's own advice ends with it
  EXPECT_TRUE(big.check_invariants());
}
TEST_F(PageFallbackTest, DirectedMediumPagesSwitchedOffMeanBasePages) {
  start(PageBacking::kThp); // 64 KiB: never
  char *p = make(10 * kMiB, PageKind::kMedium);
  ASSERT_NE(p, nullptr);
  EXPECT_TRUE(FakeOs::advised.count(region.unit_address(Slice::kBigBase, 0)) == 0);
  EXPECT_EQ(on(PageKind::kBase), 1u);
  EXPECT_EQ(not_on(PageKind::kMedium, WhyNot::kSwitchedOff), 1u);
  EXPECT_EQ(counters.directed_mthp.get(), 1u);
  EXPECT_EQ(counters.directed_mthp_got.get(), 0u);
  EXPECT_EQ(counters.superpages_now.get(), 0u);
  EXPECT_EQ(region.charged_superpages(), 0u);
  EXPECT_EQ(warning(), "directives: page=64k: pages of 64 KiB are switched off (echo madvise > "
                       "/sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled); base pages "
                       "are used");
  p = static_cast<char *>(big.resize(p, 20 * kMiB));
  EXPECT_EQ(big.pending(), 0u); // base pages, no superpages later
  EXPECT_TRUE(big.release(p) && big.check_invariants());
}
TEST_F(PageFallbackTest, DirectedMediumPagesThatTheKernelLacksOrRefuses) {
  FakeOs::files.erase("/sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled");
  start(PageBacking::kThp);
  ASSERT_NE(make(10 * kMiB, PageKind::kMedium), nullptr);
  EXPECT_EQ(not_on(PageKind::kMedium, WhyNot::kNoSuchSize), 1u);
}
TEST_F(PageFallbackTest, DirectedMediumPagesThatAllMemoryGetsNeedNoAdvice) {
  FakeOs::set_thp("madvise", "always");
  start(PageBacking::kThp);
  char *p = make(10 * kMiB, PageKind::kMedium);
  EXPECT_EQ(on(PageKind::kMedium), 1u);
  EXPECT_TRUE(FakeOs::advised.empty()); // khugepaged scans advised memory
  EXPECT_TRUE(big.release(p) && big.check_invariants());
}
TEST_F(PageFallbackTest, DirectedMediumPagesRefusedByTheKernel) {
  FakeOs::set_thp("madvise", "madvise");
  start(PageBacking::kThp);
  FakeOs::advise_error = EPERM;
  char *p = make(10 * kMiB, PageKind::kMedium);
  ASSERT_NE(p, nullptr);
  EXPECT_EQ(not_on(PageKind::kMedium, WhyNot::kRefused), 1u);
  EXPECT_EQ(on(PageKind::kBase), 1u);
  EXPECT_EQ(counters.directed_mthp_got.get(), 0u);
  EXPECT_TRUE(big.release(p) && big.check_invariants());
}
TEST_F(PageFallbackTest, TheUsersBasePagesGoBeforeDirectives) {
  FakeOs::set_thp("madvise", "madvise");
  start(PageBacking::kBase, 0, true);
  EXPECT_FALSE(page_fallback.directed_gigantic());
  ASSERT_NE(make(10 * kMiB, PageKind::kMedium), nullptr);
  ASSERT_NE(make(3 * kGiB, PageKind::kGigantic), nullptr);
  EXPECT_EQ(on(PageKind::kBase), 2u);
  EXPECT_TRUE(FakeOs::pooled.empty());
  EXPECT_EQ(warning(), ""); // the user's choice causes no warning
}
TEST_F(PageFallbackTest, DirectedMediumPagesWhereAllGetThem) {
  FakeOs::set_thp("madvise", "madvise");
  start(PageBacking::kMedium);
  ASSERT_NE(make(10 * kMiB, PageKind::kMedium), nullptr);
  EXPECT_EQ(on(PageKind::kMedium), 1u);
  EXPECT_EQ(counters.directed_mthp_got.get(), 1u);
}
TEST_F(PageFallbackTest, DirectedGiganticPagesForItsObjectsOnly) {
  start(PageBacking::kThp, 0, true);
  EXPECT_TRUE(page_fallback.directed_gigantic() && !page_fallback.pools());
  char *other = make(2 * kGiB);
  EXPECT_TRUE(FakeOs::pooled.empty());
  char *p = make(2 * kGiB + 512 * kMiB, PageKind::kGigantic);
  ASSERT_EQ(FakeOs::pooled.size(), 1u); // the rest from the user's first step: transparent
  EXPECT_EQ(FakeOs::pooled.begin()->second.page, kGiB);
  EXPECT_EQ(FakeOs::pooled.begin()->second.bytes, 2 * kGiB);
  EXPECT_EQ(pool_units(PageKind::kGigantic), 1024u);
  // Its tail is a superpage, too: the rest of that superpage adds less than 2 %.
  EXPECT_EQ(counters.superpages_now.get(), 1024u + 1281u);
  char *small = make(10 * kMiB, PageKind::kGigantic); // gets 2 MiB pages
  EXPECT_EQ(counters.directed_1g.get(), 1u);
  EXPECT_EQ(counters.directed_1g_got.get(), 1u);
  EXPECT_EQ(on(PageKind::kGigantic), 1u);
  EXPECT_EQ(on(PageKind::kSuperpage), 2u);
  EXPECT_EQ(warning(), "");
  EXPECT_TRUE(big.release(p) && big.release(small) && big.release(other));
  EXPECT_TRUE(FakeOs::pooled.empty() && big.check_invariants());
  EXPECT_EQ(counters.superpages_now.get(), 0u);
  EXPECT_EQ(region.charged_superpages(), 0u);
}
TEST_F(PageFallbackTest, DirectedGiganticPagesFallTo2MiB) {
  FakeOs::hugetlb_error = ENOMEM;
  start(PageBacking::kThp, 0, true);
  ASSERT_NE(make(kGiB + 10 * kMiB, PageKind::kGigantic), nullptr);
  EXPECT_EQ(on(PageKind::kSuperpage), 1u);
  EXPECT_EQ(counters.directed_1g.get(), 1u);
  EXPECT_EQ(counters.directed_1g_got.get(), 0u);
  EXPECT_EQ(not_on(PageKind::kGigantic, WhyNot::kPoolEmpty), 1u);
  EXPECT_EQ(warning(), "directives: page=1g: the pool has no free pages of 1 GiB (echo N > "
                       "/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages); transparent "
                       "huge pages are used");
}
TEST_F(PageFallbackTest, DirectedGiganticPagesWithoutTheLibrary) {
  FakeOs::open_hugetlb_result = [](size_t) { return ENOENT; };
  start(PageBacking::kThp, 0, true);
  EXPECT_EQ(warning(), ""); // no object has requested them yet
  ASSERT_NE(make(kGiB + 10 * kMiB, PageKind::kGigantic), nullptr);
  ASSERT_NE(make(kGiB + 10 * kMiB, PageKind::kGigantic), nullptr);
  EXPECT_EQ(on(PageKind::kSuperpage), 2u);
  EXPECT_EQ(not_on(PageKind::kGigantic, WhyNot::kNoLibrary), 2u);
  EXPECT_NE(warning().find("page=1g: libhugetlbfs is not installed"), std::string::npos);
}
TEST_F(PageFallbackTest, DirectedGiganticPagesWhereSuperpagesAreSwitchedOff) {
  FakeOs::set_thp("never");
  start(PageBacking::kThp, 0, true);
  EXPECT_TRUE(page_fallback.any());
  char *p = make(kGiB + 10 * kMiB, PageKind::kGigantic), *q = make(10 * kMiB);
  EXPECT_EQ(on(PageKind::kGigantic), 1u);
  EXPECT_EQ(on(PageKind::kBase), 1u);
  EXPECT_EQ(counters.superpages_now.get(), 512u);
  EXPECT_TRUE(big.release(p) && big.release(q) && big.check_invariants());
  EXPECT_EQ(counters.superpages_now.get(), 0u);
  EXPECT_EQ(region.charged_superpages(), 0u);
}
} // namespace
} // namespace smalloc
