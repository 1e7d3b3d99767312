// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests what `smalloc try` proposes for each kind of result.
#include "runtime/cli/study/try_advice.h"

#include <gtest/gtest.h>

namespace smalloc::cli {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

study::PairedChange change(double before, double after, double low, double high, bool clear) {
  return {3, before, after, before / after, low, high, clear};
}

TryFacts facts_of(double ratio, bool clear) {
  TryFacts facts;
  facts.cpu = change(ratio, 1, ratio - 0.01, ratio + 0.01, clear);
  facts.memory = change(100e6, 100e6, 1, 1, false);
  facts.heap_bytes = 100 * kMiB;
  facts.heap_superpage_bytes = 90 * kMiB;
  return facts;
}

std::string first_step(const TryFacts &facts) {
  const auto steps = next_steps(facts, "./app 1", "smalloc-cc -O2 ...");
  EXPECT_TRUE(steps.size() == 1 || steps.size() == 2);
  return steps.front();
}

TEST(TryAdvice, GainIsFollowedByRunAndByTheCompilerIfItHasNotDecided) {
  TryFacts facts = facts_of(1.5, true);
  EXPECT_EQ(try_result(facts), TryResult::kFaster);
  EXPECT_EQ(first_step(facts), "smalloc run -- ./app 1");
  EXPECT_TRUE(next_steps(facts, "./app", "smalloc-cc -O2 ...")[1].starts_with("smalloc-cc"));
  facts.has_sites = true;
  EXPECT_EQ(next_steps(facts, "./app", "smalloc-cc -O2 ...").size(), 1u);
}

TEST(TryAdvice, GrowthOfMemoryIsBounded) {
  TryFacts facts = facts_of(1.5, true);
  facts.memory = change(100e6, 130e6, 0.76, 0.78, true);
  EXPECT_TRUE(next_steps(facts, "./app", "cc")[1].starts_with("smalloc run --budget 10%"));
}

TEST(TryAdvice, LossMeansNothingToDo) {
  const TryFacts facts = facts_of(0.8, true);
  EXPECT_EQ(try_result(facts), TryResult::kSlower);
  EXPECT_TRUE(first_step(facts).starts_with("nothing: "));
}

TEST(TryAdvice, NoDifferenceDependsOnWhatTheHeapGot) {
  TryFacts facts = facts_of(1.0, false);
  EXPECT_EQ(try_result(facts), TryResult::kSame);
  EXPECT_EQ(first_step(facts),
            "nothing: superpages hold 90 MiB of 100 MiB, and that saves no measurable time");
  facts.heap_superpage_bytes = 10 * kMiB;
  EXPECT_TRUE(first_step(facts).starts_with("smalloc-cc -O2 ...   # recompile"));
  facts.has_sites = true;
  EXPECT_TRUE(first_step(facts).starts_with("smalloc record -- ./app 1"));
  facts.heap_bytes = 4 * kMiB;
  EXPECT_TRUE(first_step(facts).starts_with("nothing: the heap of 4 MiB"));
  facts.heap_bytes = 0; // never looked at
  facts.memory.after = 2.0 * kMiB;
  EXPECT_TRUE(first_step(facts).starts_with("nothing: the heap of 2 MiB"));
}

TEST(TryAdvice, NoiseAsksForMoreRuns) {
  TryFacts facts = facts_of(1.0, false);
  facts.cpu.low = 0.9;
  facts.cpu.high = 1.2;
  EXPECT_TRUE(first_step(facts).starts_with("smalloc try --rounds 9 -- ./app 1"));
}

TEST(TryAdvice, OnePairIsNoClaim) {
  TryFacts facts = facts_of(2.0, false);
  facts.cpu.pairs = 1;
  EXPECT_EQ(try_result(facts), TryResult::kUnknown);
  EXPECT_TRUE(first_step(facts).starts_with("smalloc try -- ./app 1"));
}

TEST(TryAdvice, PageSizesAreProposedWhereTheSystemAndTheProgramHaveRoom) {
  TryFacts facts = facts_of(1.5, true);
  EXPECT_TRUE(page_proposals(facts).empty());
  facts.system_has_1g = facts.system_has_64k = true;
  EXPECT_TRUE(page_proposals(facts).empty());
  facts.heap_bytes = 3072 * kMiB;
  ASSERT_EQ(page_proposals(facts).size(), 2u); // 90 MiB of 3 GiB on superpages
  EXPECT_EQ(page_proposals(facts)[0].pages, "1g");
  EXPECT_EQ(page_proposals(facts)[1].pages, "64k");
  facts.heap_superpage_bytes = 3000 * kMiB;
  EXPECT_EQ(page_proposals(facts).size(), 1u);
  facts.static_base_bytes = 64 * kMiB;
  facts.text_base_bytes = 7 * kMiB;
  ASSERT_EQ(page_proposals(facts).size(), 2u);
  EXPECT_EQ(page_proposals(facts)[1].pages, "static");
}

} // namespace
} // namespace smalloc::cli
