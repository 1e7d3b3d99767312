// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From runs to ten lines of text, with figures that are known.
#include "runtime/cli/study/try_report.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smalloc::cli {
namespace {

using testing::HasSubstr;

study::RunResult run(double user, double system, uint64_t faults, uint64_t peak) {
  study::RunResult r;
  r.user_seconds = user;
  r.system_seconds = system;
  r.minor_faults = faults;
  r.peak_resident_bytes = peak;
  return r;
}

TryFacts facts_of(const TryRuns &runs) {
  TryFacts facts;
  add_runs(runs, facts);
  return facts;
}

constexpr uint64_t kMiB = uint64_t{1} << 20;

TEST(TryReport, SaysWhatChangedAndByHowMuch) {
  TryRuns runs;
  for (int i = 0; i < 3; i++) {
    runs.without.push_back(run(1.5, 0.5, 20000, 100 * kMiB));
    runs.with.push_back(run(0.9, 0.1, 200, 102 * kMiB));
  }
  const auto document = try_document(facts_of(runs), {"./app", "a b"}, "smalloc-cc");
  EXPECT_EQ(document["result"], "faster");
  EXPECT_EQ(document["command"], "./app 'a b'");
  EXPECT_NEAR(document["cpu_seconds"]["ratio"].get<double>(), 2, 1e-9);
  const std::string text = try_text(document, Colour::kOff);
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 10);
  EXPECT_THAT(text, HasSubstr("app: faster with smalloc (3 pairs of runs"));
  EXPECT_THAT(text, HasSubstr("2.00x faster (2.00x to 2.00x)"));
  EXPECT_THAT(text, HasSubstr("100x fewer"));
  EXPECT_THAT(text, HasSubstr("+2 MiB (+2.0 %)"));
  EXPECT_THAT(text, HasSubstr("next: smalloc run -- ./app 'a b'"));
}

TEST(TryReport, TurnsTheIntervalOfALossAround) {
  TryRuns runs;
  for (const double slower : {1.9, 2.0, 2.1}) {
    runs.without.push_back(run(1, 0, 100, kMiB));
    runs.with.push_back(run(slower, 0, 100, kMiB));
  }
  const auto document = try_document(facts_of(runs), {"app"}, "smalloc-cc");
  EXPECT_EQ(document["result"], "slower");
  const std::string text = try_text(document, Colour::kOff);
  EXPECT_THAT(text, HasSubstr("2.00x slower (1.76x to 2.26x)"));
  EXPECT_THAT(text, HasSubstr("page faults    100      100     no difference"));
  EXPECT_THAT(text, HasSubstr("next: nothing"));
}

TEST(TryReport, CallsAWideIntervalUnclear) {
  TryRuns runs;
  for (const double time : {1.0, 1.5, 0.8}) {
    runs.without.push_back(run(1, 0, 100, kMiB));
    runs.with.push_back(run(time, 0, 100, kMiB));
  }
  const std::string text =
      try_text(try_document(facts_of(runs), {"app"}, "smalloc-cc"), Colour::kOff);
  EXPECT_THAT(text, HasSubstr("app: no difference beyond the spread of the runs"));
  EXPECT_THAT(text, HasSubstr("unclear ("));
}

TEST(TryReport, OnePairMakesNoClaim) {
  const TryRuns runs{{run(2, 0, 100, kMiB)}, {run(1, 0, 100, kMiB)}};
  const std::string text =
      try_text(try_document(facts_of(runs), {"app"}, "smalloc-cc"), Colour::kOff);
  EXPECT_THAT(text, HasSubstr("1 pair of runs: too few to claim a difference"));
  EXPECT_THAT(text, HasSubstr("2.00x faster\n")); // without an interval
}

} // namespace
} // namespace smalloc::cli
