// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests which directives take effect: by benefit per superpage for the profile's input, by PMB for
// another one, above the bar only.
#include "smalloc/agent/policy.h"
#include "smalloc/agent/run_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

namespace smalloc {
namespace {

struct Choice {
  uint64_t used;
  std::map<uint32_t, bool> taken;
};
Choice choice(Policy policy, std::vector<Candidate> list, uint64_t supply, uint64_t bar = 0) {
  Choice c;
  c.used = choose(policy, list.data(), list.size(), supply, bar);
  for (const Candidate &candidate : list)
    c.taken[candidate.entry] = candidate.taken;
  return c;
}

// A big site of medium heat, a small hot one, and one in between.
const std::vector<Candidate> kThree = {
    {100000, 1000, 0, false, false}, {60000, 10, 1, false, false}, {30000, 100, 2, false, false}};

TEST(AgentPolicy, EnoughForAll) {
  const Choice c = choice(Policy::kSameInput, kThree, 2000);
  EXPECT_EQ(c.used, 1110u);
  EXPECT_TRUE(c.taken.at(0) && c.taken.at(1) && c.taken.at(2));
}

TEST(AgentPolicy, TheSameInputTakesMostBenefitASuperpage) {
  const Choice c = choice(Policy::kSameInput, kThree, 200);
  EXPECT_EQ(c.used, 110u);
  EXPECT_FALSE(c.taken.at(0));
  EXPECT_TRUE(c.taken.at(1) && c.taken.at(2));
  EXPECT_TRUE(choice(Policy::kSameInput, kThree, 10).taken.at(1));
  EXPECT_EQ(choice(Policy::kSameInput, kThree, 9).used, 0u);
}

TEST(AgentPolicy, AnotherInputGoesByPmbAlone) {
  const Choice c = choice(Policy::kOtherInput, kThree, 1001, 50000);
  EXPECT_TRUE(c.taken.at(0) && c.taken.at(1)); // whatever the profile counted
  EXPECT_FALSE(c.taken.at(2));
}

TEST(AgentPolicy, AnotherInputGivesTheHighestPmbWhatThereIs) {
  const Choice c = choice(Policy::kOtherInput, kThree, 200);
  EXPECT_TRUE(c.taken.at(0));
  EXPECT_FALSE(c.taken.at(1) || c.taken.at(2));
  // In the order of the file the big site comes first.
  const Choice turned = choice(Policy::kOtherInput,
                               {{1000, 500, 0, false, false}, {90000, 300, 1, false, false}}, 300);
  EXPECT_FALSE(turned.taken.at(0));
  EXPECT_TRUE(turned.taken.at(1));
  EXPECT_EQ(choice(Policy::kOtherInput, kThree, 0).used, 0u);
}

// Compares with the plain rule: in the order of PMB, then of worth per superpage, until the supply
// is used up.
TEST(AgentPolicy, AnotherInputTakesWhatTheOrderOfAllWould) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 2000; round++) {
    std::vector<Candidate> list;
    const uint64_t bar = random() % 3 ? 0 : random() % kWholePmb;
    for (uint32_t i = 0; i < 1 + random() % 40; i++)
      list.push_back({round % 2 ? random() % kWholePmb : 40000 + random() % 20, random() % 100, i,
                      random() % 20 == 0, false});
    const uint64_t supply = random() % 1500;
    const Choice c = choice(Policy::kOtherInput, list, supply, bar);
    std::sort(list.begin(), list.end(), [](const Candidate &a, const Candidate &b) {
      if (a.insists != b.insists)
        return a.insists;
      if (a.pmb_thousandths != b.pmb_thousandths && !a.insists)
        return a.pmb_thousandths > b.pmb_thousandths;
      return a.superpages != b.superpages ? a.superpages < b.superpages : a.entry < b.entry;
    });
    uint64_t used = 0;
    for (const Candidate &one : list) {
      const bool taken = one.insists || (one.pmb_thousandths >= bar && used < supply);
      // A candidate that wants no superpage may be taken or not: it makes no difference.
      EXPECT_TRUE(c.taken.at(one.entry) == taken || one.superpages == 0)
          << round << " " << one.entry;
      used += taken ? one.superpages : 0;
    }
    EXPECT_EQ(c.used, used) << round;
  }
}

TEST(AgentPolicy, TheBarHoldsForTheSameInputToo) {
  const Choice c = choice(Policy::kSameInput, kThree, 2000, 60001);
  EXPECT_TRUE(c.taken.at(0));
  EXPECT_FALSE(c.taken.at(1) || c.taken.at(2));
}

TEST(AgentPolicy, ALineWithoutPmbInsists) {
  const Choice c = choice(Policy::kOtherInput, {{0, 10, 7, true, false}}, 0, kWholePmb);
  EXPECT_TRUE(c.taken.at(7));
}

TEST(AgentPolicy, AProgramThatWasSlowerGetsNone) {
  const Choice c = choice(Policy::kAllBase, kThree, 2000);
  EXPECT_EQ(c.used, 0u);
  EXPECT_FALSE(c.taken.at(0) || c.taken.at(1) || c.taken.at(2));
}

TEST(AgentPolicy, HostileNumbersDoNotOverflow) {
  const std::vector<Candidate> list = {{UINT64_MAX, UINT32_MAX, 0, false, false},
                                       {UINT64_MAX, 0, 1, false, false}};
  const Choice c = choice(Policy::kSameInput, list, 5);
  EXPECT_FALSE(c.taken.at(0));
  EXPECT_TRUE(c.taken.at(1));
}

TEST(AgentPolicy, TheBarIsTheShareThatOthersHaveClaimed) {
  EXPECT_EQ(bar_thousandths(0, 100), 0u);
  EXPECT_EQ(bar_thousandths(25, 100), 25000u);
  EXPECT_EQ(bar_thousandths(100, 100), kWholePmb);
  EXPECT_EQ(bar_thousandths(UINT64_MAX, 100), kWholePmb);
  EXPECT_EQ(bar_thousandths(UINT64_MAX / 2, UINT64_MAX), 49999u);
  EXPECT_EQ(bar_thousandths(0, 0), 0u);
  EXPECT_EQ(bar_thousandths(1, 0), kWholePmb);
  uint64_t last = 0;
  for (uint64_t claimed = 0; claimed <= 1000; claimed++) {
    EXPECT_GE(bar_thousandths(claimed, 1000), last);
    last = bar_thousandths(claimed, 1000);
  }
}

struct VerdictTest : testing::Test {
  VerdictTest() {
    outcome.decision = DirectiveOutcome::kTaken;
    outcome.predicted = 32;
    outcome.superpages_peak = 32;
    outcome.live_bytes_peak = uint64_t{64} << 20;
  }
  SiteOutcome outcome;
};

TEST_F(VerdictTest, HeldWithHalfOfWhatWasPredictedOrLive) {
  EXPECT_EQ(judge(outcome, Policy::kSameInput, false), Verdict::kHeld);
  outcome.superpages_peak = 16;
  EXPECT_EQ(judge(outcome, Policy::kSameInput, true), Verdict::kHeld);
  outcome.superpages_peak = 15;
  EXPECT_EQ(judge(outcome, Policy::kSameInput, false), Verdict::kFailed);
  EXPECT_EQ(judge(outcome, Policy::kSameInput, true), Verdict::kShort); // not the directive's fault
  outcome.live_bytes_peak = uint64_t{30} << 20;
  EXPECT_EQ(judge(outcome, Policy::kSameInput, false), Verdict::kHeld); // all live memory
}

TEST_F(VerdictTest, ASiteThatIsHardlyUsedFailsForTheSameInputOnly) {
  outcome.superpages_peak = 3;
  outcome.live_bytes_peak = uint64_t{6} << 20;
  EXPECT_EQ(judge(outcome, Policy::kSameInput, false), Verdict::kFailed);
  EXPECT_EQ(judge(outcome, Policy::kOtherInput, false), Verdict::kUnused);
}

TEST_F(VerdictTest, WhatChildrenMayHaveUsedHasNotFailed) {
  outcome.superpages_peak = 3;
  outcome.live_bytes_peak = uint64_t{6} << 20;
  outcome.others_had_it = true;
  EXPECT_EQ(judge(outcome, Policy::kSameInput, false), Verdict::kShort);
  outcome.live_bytes_peak = uint64_t{64} << 20; // they need not have any
  EXPECT_EQ(judge(outcome, Policy::kSameInput, false), Verdict::kFailed);
}

TEST_F(VerdictTest, WhatWasNotTakenCannotFail) {
  outcome.decision = DirectiveOutcome::kDeferred;
  outcome.superpages_peak = 0;
  EXPECT_EQ(judge(outcome, Policy::kSameInput, false), Verdict::kNotTaken);
}

TEST_F(VerdictTest, WhatCannotBeHadSaysNothing) {
  outcome.possible = false;
  for (const uint64_t live : {uint64_t{0}, uint64_t{100} << 21}) {
    outcome.live_bytes_peak = live;
    EXPECT_EQ(judge(outcome, Policy::kSameInput, false), Verdict::kShort);
  }
}
TEST_F(VerdictTest, SmallObjectsAreKnownByTheirHeap) {
  outcome.small_objects = true;
  outcome.superpages_peak = 0;
  EXPECT_EQ(judge(outcome, Policy::kSameInput, false), Verdict::kShort);
  outcome.heap_on_superpages = true;
  EXPECT_EQ(judge(outcome, Policy::kSameInput, false), Verdict::kHeld);
}

TEST_F(VerdictTest, PagesOf64KiBAreNoSuperpages) {
  outcome.page_shift = 16;
  outcome.superpages_peak = 0;
  EXPECT_EQ(judge(outcome, Policy::kSameInput, false), Verdict::kHeld);
  EXPECT_EQ(judge(outcome, Policy::kSameInput, true), Verdict::kShort);
  outcome.live_bytes_peak = uint64_t{6} << 20;
  EXPECT_EQ(judge(outcome, Policy::kSameInput, false), Verdict::kFailed);
  EXPECT_EQ(judge(outcome, Policy::kOtherInput, false), Verdict::kUnused);
  outcome.live_bytes_peak = 0; // small objects, which the program's malloc served
  outcome.small_objects = true;
  EXPECT_EQ(judge(outcome, Policy::kSameInput, false), Verdict::kShort);
}

} // namespace
} // namespace smalloc
