// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// counters_test.cpp tests on a simulated PMU that multiplexed counts are scaled, that two runs of
// different work give no cost, and how cycles become a stack.
#include "runtime/measure/walk_counts.h"
#include "runtime/pmu/counters.h"
#include "runtime/pmu/cpi_stack.h"
#include "runtime/study/runner.h"

#include "fake_perf.h"

#include <gtest/gtest.h>

namespace smalloc::pmu {
namespace {

using calibrate::count_walks;

void ordinary(FakePerf &perf) {
  perf.rates = {{Quantity::kCycles, 1e9},       {Quantity::kInstructions, 5e8},
                {Quantity::kWalks, 2e6},        {Quantity::kWalkCycles, 1.2e8},
                {Quantity::kMemoryStalls, 4e8}, {Quantity::kBranchMisses, 1e6}};
}

TEST(Counters, MakeUpForTurns) {
  FakePerf perf;
  ordinary(perf);
  perf.running = 250; // on for a quarter of the time
  const Quantity quantities[] = {Quantity::kCycles, Quantity::kWalks, Quantity::kCacheMisses};
  {
    Counters counters(perf, quantities, {});
    perf.work(); // not started yet
    counters.start();
    perf.work();
    counters.stop();
    perf.work();
    const Counts counts = counters.read();
    EXPECT_DOUBLE_EQ(*counts[Quantity::kCycles], 1e9);
    EXPECT_DOUBLE_EQ(*counts[Quantity::kWalks], 2e6);
    EXPECT_FALSE(counts[Quantity::kCacheMisses]);  // there is no such event
    EXPECT_FALSE(counts[Quantity::kInstructions]); // not requested
    EXPECT_EQ(perf.open_handles, 2u);
  }
  EXPECT_EQ(perf.open_handles, 0u);
  perf.running = 0; // never on
  Counters counters(perf, quantities, {});
  EXPECT_FALSE(counters.read()[Quantity::kCycles]);
}

TEST(Counters, SayWhyThereAreNone) {
  FakePerf perf;
  ordinary(perf);
  EXPECT_EQ(obstacle(perf), "");
  perf.refused[Quantity::kCycles] = ENOENT;
  EXPECT_EQ(obstacle(perf), "there is no PMU here");
  perf.refused[Quantity::kCycles] = EACCES;
  EXPECT_EQ(obstacle(perf), "events are closed to you (kernel.perf_event_paranoid)");
  perf.refused[Quantity::kCycles] = ENOSYS;
  EXPECT_EQ(obstacle(perf), "perf_event_open is forbidden here");
  EXPECT_EQ(perf.open_handles, 0u);
}

TEST(WalkCounts, DivideTwoRunsThatAgree) {
  FakePerf perf;
  ordinary(perf);
  perf.work_of_run = {1, 1.03};
  const auto walks = count_walks(perf, [&] { perf.work(); });
  ASSERT_TRUE(walks.cycles);
  EXPECT_NEAR(*walks.cycles, 60 * 1.03, 1e-6);
  EXPECT_EQ(walks.misses, 2e6);
  EXPECT_EQ(perf.runs, 2u);
  EXPECT_EQ(perf.open_handles, 0u);
}

TEST(WalkCounts, RejectRunsThatDiffer) {
  FakePerf perf;
  ordinary(perf);
  perf.work_of_run = {1, 1.1, 1.2, 1, 1, 1.1};
  auto walks = count_walks(perf, [&] { perf.work(); });
  EXPECT_FALSE(walks.cycles);
  EXPECT_EQ(walks.why, "two runs never agreed in their cycles");
  EXPECT_EQ(perf.runs, 6u);
  // The second pair agrees.
  FakePerf other;
  ordinary(other);
  other.work_of_run = {1, 2, 1};
  walks = count_walks(other, [&] { other.work(); });
  ASSERT_TRUE(walks.cycles);
  EXPECT_NEAR(*walks.cycles, 60, 1e-6);
  EXPECT_EQ(other.runs, 4u);
}

TEST(WalkCounts, SayWhatIsMissing) {
  FakePerf zen;
  ordinary(zen);
  zen.rates.erase(Quantity::kWalkCycles);
  EXPECT_EQ(count_walks(zen, [] {}).why, "this processor does not count the cycles of walks");
  FakePerf guest;
  ordinary(guest);
  guest.refused[Quantity::kCycles] = ENOENT;
  EXPECT_EQ(count_walks(guest, [] { FAIL() << "nothing to count"; }).why, "there is no PMU here");
  FakePerf busy;
  ordinary(busy);
  busy.refused[Quantity::kWalks] = EBUSY;
  EXPECT_EQ(count_walks(busy, [&] { busy.work(); }).why,
            "its events cannot be counted together with cycles");
  FakePerf idle;
  ordinary(idle);
  idle.rates[Quantity::kWalks] = 0;
  EXPECT_EQ(count_walks(idle, [&] { idle.work(); }).why, "no miss was counted");
}

double part(const CpiStack &stack, const std::string &name) {
  for (const CpiPart &p : stack.parts)
    if (p.name == name)
      return p.cpi;
  return -1;
}

double sum(const CpiStack &stack) {
  double total = 0;
  for (const CpiPart &p : stack.parts)
    total += p.cpi;
  return total;
}

TEST(CpiStack, SplitsCountedCycles) {
  Counts counts;
  counts[Quantity::kCycles] = 2000;
  counts[Quantity::kInstructions] = 1000;
  counts[Quantity::kWalkCycles] = 300;
  counts[Quantity::kMemoryStalls] = 900; // 300 of these are walks
  counts[Quantity::kBranchMisses] = 10;
  const auto stack = cpi_stack(counts, {});
  ASSERT_TRUE(stack);
  EXPECT_EQ(stack->cpi, 2);
  EXPECT_NEAR(part(*stack, "translation"), 0.3, 1e-12);
  EXPECT_NEAR(part(*stack, "dcache"), 0.6, 1e-12);
  EXPECT_NEAR(part(*stack, "branch"), 0.15, 1e-12);
  EXPECT_NEAR(part(*stack, "other"), 0.95, 1e-12);
  EXPECT_NEAR(sum(*stack), stack->cpi, 1e-12);
}

TEST(CpiStack, EstimatesWhatIsNotCountedAndLeavesOutWhatIsUnknown) {
  Counts counts;
  counts[Quantity::kCycles] = 2000;
  counts[Quantity::kInstructions] = 1000;
  counts[Quantity::kWalks] = 5;
  EXPECT_EQ(cpi_stack(counts, {})->parts.size(), 1u); // only "other"
  const auto stack = cpi_stack(counts, {40, 15});
  EXPECT_NEAR(part(*stack, "translation"), 0.2, 1e-12);
  EXPECT_EQ(stack->parts[0].source, "estimated");
  EXPECT_EQ(part(*stack, "dcache"), -1);
  counts[Quantity::kInstructions].reset();
  EXPECT_FALSE(cpi_stack(counts, {}));
}

TEST(CpiStack, NeverExceedsTheCycles) {
  Counts counts;
  counts[Quantity::kCycles] = 1000;
  counts[Quantity::kInstructions] = 1000;
  counts[Quantity::kWalkCycles] = 700;
  counts[Quantity::kMemoryStalls] = 1500;
  counts[Quantity::kBranchMisses] = 100;
  const auto stack = cpi_stack(counts, {});
  EXPECT_NEAR(part(*stack, "translation"), 0.7, 1e-12);
  EXPECT_NEAR(part(*stack, "dcache"), 0.3, 1e-12);
  EXPECT_EQ(part(*stack, "branch"), 0);
  EXPECT_NEAR(sum(*stack), 1, 1e-12);
}

TEST(Runner, CountsTheCommandFromItsExecOn) {
  FakePerf perf;
  ordinary(perf);
  study::RunPlan plan;
  plan.command = {"true"};
  plan.perf = &perf;
  const study::RunResult run = study::run_once(plan);
  EXPECT_EQ(run.error, 0);
  EXPECT_EQ(run.status, 0);
  EXPECT_DOUBLE_EQ(*run.events[Quantity::kCycles], 1e9);
  EXPECT_DOUBLE_EQ(*run.events[Quantity::kWalkCycles], 1.2e8);
  EXPECT_FALSE(run.events[Quantity::kCacheMisses]);
  ASSERT_FALSE(perf.targets.empty());
  EXPECT_TRUE(perf.targets[0].from_exec);
  EXPECT_GT(perf.targets[0].process, 0);
  EXPECT_EQ(perf.open_handles, 0u);
  plan.perf = nullptr;
  EXPECT_FALSE(study::run_once(plan).events[Quantity::kCycles]);
}

} // namespace
} // namespace smalloc::pmu
