// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// study_report_test.cpp tests the report of a study with given times: the paper's normalised
// speed-up and geometric mean, noise, the picture, and the prediction's curve.
#include "runtime/cli/study/study_prediction.h"
#include "runtime/cli/study/study_report.h"
#include "runtime/errors/diagnostics.h"
#include "runtime/measure/stream.h"

#include "runtime/trace/writer.h"

#include <cmath>
#include <cstdlib>

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smalloc::cli {
namespace {

using testing::HasSubstr;

study::RunResult run(double user, double system = 0) {
  study::RunResult r;
  r.user_seconds = user;
  r.system_seconds = system;
  r.wall_seconds = user + system + 1;
  r.minor_faults = 10;
  r.peak_resident_bytes = 5 << 20;
  return r;
}

Study two_commands() {
  Study s;
  s.configurations = {"base", "thp"};
  s.commands = {
      {"fast",
       {"./fast"},
       {{"base", {run(4), run(4.01), run(3.99)}}, {"thp", {run(2), run(2.01), run(1.99)}}}},
      {"same",
       {"./same", "<&>\"x"},
       {{"base", {run(1), run(1.1), run(0.9)}},
        {"thp", {run(0.5, 0.49), run(0.5, 0.6), run(0.9)}}}}};
  s.skipped = {"hugetlb: the pool has no free page"};
  return s;
}

TEST(StudyReport, NormalisesToTheFirst) {
  const auto d = study_document(two_commands());
  EXPECT_EQ(d["schema"], "smalloc.study/1");
  const auto &thp = d["commands"][0]["results"][1];
  EXPECT_NEAR(thp["speedup"].get<double>(), 2, 1e-9);
  EXPECT_FALSE(thp["below_noise"].get<bool>());
  EXPECT_TRUE(d["commands"][0]["results"][0]["below_noise"].is_null());
  EXPECT_EQ(thp["page_faults"], 10.0);
  EXPECT_EQ(thp["footprint"]["maximum_bytes"], 5 << 20);
  const auto &same = d["commands"][1]["results"][1];
  EXPECT_TRUE(same["below_noise"].get<bool>());
  EXPECT_GT(same["repeats_needed"].get<uint64_t>(), 100u);
  const double speedup = same["speedup"];
  EXPECT_NEAR(d["geometric_mean"][1]["speedup"].get<double>(), std::sqrt(2 * speedup), 1e-9);
  EXPECT_EQ(d["geometric_mean"][1]["memory"], 1.0);
  Study twice = two_commands(); // one command takes four times the memory
  for (auto &r : twice.commands[0].results[1].runs)
    r.peak_resident_bytes *= 4;
  EXPECT_NEAR(study_document(twice)["geometric_mean"][1]["memory"].get<double>(), 2, 1e-9);
}

TEST(StudyReport, SaysNoiseAndTheRepeatsThatSettleIt) {
  const std::string text = study_table(study_document(two_commands()), Colour::kOff);
  EXPECT_THAT(text, HasSubstr("faster"));
  EXPECT_THAT(text, testing::ContainsRegex("below noise; (more than )?[0-9]+ repeats needed"));
  EXPECT_THAT(text, HasSubstr("GEOMETRIC MEAN"));
  EXPECT_THAT(text, HasSubstr("skipped: hugetlb"));
}

TEST(StudyReport, KnowsNoSpreadOfTwoRuns) {
  Study s = two_commands();
  for (auto &command : s.commands)
    for (auto &result : command.results)
      result.runs.resize(2);
  const auto d = study_document(s);
  const auto &thp = d["commands"][0]["results"][1];
  EXPECT_TRUE(thp["seconds"]["deviation"].is_null());
  EXPECT_TRUE(thp["below_noise"].get<bool>());
  const std::string text = study_table(d, Colour::kOff);
  EXPECT_THAT(text, HasSubstr("too few runs to tell"));
  EXPECT_THAT(text, testing::Not(HasSubstr(" % ")));
  EXPECT_THAT(text, testing::Not(HasSubstr("faster")));
  EXPECT_FALSE(study_svg(d).empty());
}

TEST(StudyReport, WritesEveryRunAsCsv) {
  const std::string text = study_csv(two_commands());
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 13);
  EXPECT_THAT(text, HasSubstr("\n\"fast\",base,2,5.010000,4.010000,0.000000,10,0,5242880,"));
  // Each line has the header's columns; segments and page sizes are the last fifteen.
  const std::string header = text.substr(0, text.find('\n'));
  EXPECT_THAT(header,
              HasSubstr(",heap_base_bytes,heap_thp_bytes,heap_hugetlb_bytes,static_base_bytes"));
  EXPECT_EQ(std::count(text.begin(), text.end(), ','),
            13 * std::count(header.begin(), header.end(), ','));
}

TEST(StudyReport, DrawsAPictureThatIsWellFormed) {
  Study s = two_commands();
  s.commands[1].name = "<&>\"";
  const std::string picture = study_svg(study_document(s));
  EXPECT_THAT(picture, HasSubstr("<svg xmlns="));
  EXPECT_THAT(picture, HasSubstr("&lt;&amp;&gt;&quot;"));
  size_t bars = 0;
  for (size_t at = 0; (at = picture.find("<title>", at)) != std::string::npos; at++)
    bars++;
  EXPECT_EQ(bars, 8u); // two charts, two commands, two configurations
}

TEST(StudyReport, MetricsDiffer) {
  const auto r = run(2, 0.5);
  EXPECT_EQ(metric_seconds(StudyMetric::kCpu, r), 2.5);
  EXPECT_EQ(metric_seconds(StudyMetric::kUser, r), 2);
  EXPECT_EQ(metric_seconds(StudyMetric::kWall, r), 3.5);
}

TEST(StudyPrediction, TakesTheCostFromTheCurve) {
  format::MachineProfile p;
  EXPECT_EQ(walk_cycles(p, 1000), 0);
  p.walk_cost = {{2u << 20, 100, {500.0, {}, {}, "measured"}},
                 {4096, 65536, {90.0, {}, {}, "measured"}},
                 {4096, 4096, {50.0, {}, {}, "measured"}}};
  EXPECT_EQ(walk_cycles(p, 10), 50);
  EXPECT_EQ(walk_cycles(p, 1e9), 90);
  EXPECT_NEAR(walk_cycles(p, 16384), 70, 1e-9);
}

study::RunResult counted(double cycles, double instructions, double walk_cycles) {
  study::RunResult r = run(1);
  r.events[pmu::Quantity::kCycles] = cycles;
  r.events[pmu::Quantity::kInstructions] = instructions;
  r.events[pmu::Quantity::kWalks] = walk_cycles / 50;
  r.events[pmu::Quantity::kWalkCycles] = walk_cycles;
  r.events[pmu::Quantity::kBranchMisses] = 1e6;
  return r;
}

Study counted_study() {
  Study s;
  s.configurations = {"base", "thp"};
  s.commands = {
      {"walks",
       {"./walks"},
       {{"base", {counted(4e9, 2e9, 1e9), counted(4.1e9, 2e9, 1e9), counted(3.9e9, 2e9, 1e9)}},
        {"thp", {counted(3e9, 2e9, 1e8), counted(3e9, 2e9, 1e8), counted(3e9, 2e9, 1e8)}}}}};
  return s;
}

TEST(StudyReport, StacksCyclesOverThoseOfTheFirst) {
  const auto d = study_document(counted_study());
  const auto &base = d["commands"][0]["results"][0];
  EXPECT_EQ(base["events"]["cycles"], 4e9);
  EXPECT_EQ(base["events"]["dtlb_misses"], 2e7);
  EXPECT_TRUE(base["events"]["cache_misses"].is_null());
  EXPECT_EQ(base["cpi_stack"]["cpi"], 2.0);
  EXPECT_EQ(base["cpi_stack"]["parts"][0]["name"], "translation");
  EXPECT_EQ(base["cpi_stack"]["parts"][0]["cpi"], 0.5);
  const std::string text = study_table(d, Colour::kOff);
  // 25 % of the first one's cycles before, 2.5 % after; branches are 1e6 x 15 cycles.
  EXPECT_THAT(text, testing::ContainsRegex("walks +base +0.250 +- +0.004~ +0.746"));
  EXPECT_THAT(text, testing::ContainsRegex("walks +thp +0.025 +- +0.004~ +0.721"));
}

TEST(StudyReport, SaysOnceThatNothingWasCounted) {
  Study s = two_commands();
  s.no_events = "there is no PMU here";
  const auto d = study_document(s);
  EXPECT_EQ(d["no_events"], "there is no PMU here");
  EXPECT_TRUE(d["commands"][0]["results"][0]["cpi_stack"].is_null());
  EXPECT_THAT(study_table(d, Colour::kOff),
              HasSubstr("not counted: cycles, TLB misses, CPI stack: there is no PMU here\n"));
}

format::MachineProfile zen4() {
  return format::profile_of_preset(*smalloc_machine_by_name("zen4"));
}

TEST(StudyPrediction, TakesThePmusCountsWhereThereAreSome) {
  Study s = counted_study();
  auto d = study_document(s);
  const StudyPredictor predictor({"", zen4(), "./walks", std::nullopt, ""});
  predictor.add_to(d, s);
  const auto &p = d["predictions"][0];
  EXPECT_EQ(p["source"], "pmu");
  EXPECT_EQ(p["cost_source"], "pmu");
  EXPECT_EQ(p["misses"], 2e7);
  EXPECT_EQ(p["cost_cycles"], 50.0);
  EXPECT_EQ(p["translation_share"], 0.25);
  EXPECT_EQ(p["measured_gain"], 0.0); // the user time is the same in these runs
  EXPECT_TRUE(p["within_bound"].get<bool>());
  EXPECT_THAT(prediction_text(d),
              HasSubstr("2e+07 TLB misses (pmu) x 50 cycles (counted) = at most 25.0 %"));
  // Without walk cycles (Zen) the cost comes from the curve.
  for (auto &result : s.commands[0].results)
    for (auto &r : result.runs)
      r.events[pmu::Quantity::kWalkCycles].reset();
  d = study_document(s);
  predictor.add_to(d, s);
  EXPECT_EQ(d["predictions"][0]["cost_source"], "curve");
  EXPECT_EQ(d["predictions"][0]["cost_cycles"], walk_cycles(zen4(), 1280));
}

TEST(StudyPrediction, SaysWhenOnlyTheSpreadKeepsAGainWithinTheBound) {
  // 25 % of the cycles are walks; the runs scatter by about 2.5 %.
  const auto with_gain = [](double user_seconds) {
    Study s = counted_study();
    for (auto &r : s.commands[0].results[1].runs)
      r.user_seconds = user_seconds * s.commands[0].results[0].runs[0].user_seconds;
    auto d = study_document(s);
    StudyPredictor({"", zen4(), "./walks", std::nullopt, ""}).add_to(d, s);
    return d;
  };
  auto d = with_gain(0.9);
  EXPECT_THAT(prediction_text(d), HasSubstr("(within the bound)"));
  const double tolerance = d["predictions"][0]["tolerance"];
  ASSERT_GE(tolerance, 0.01);
  d = with_gain(0.75 - tolerance / 2);
  EXPECT_TRUE(d["predictions"][0]["within_bound"].get<bool>());
  EXPECT_THAT(prediction_text(d),
              HasSubstr("(above the bound by less than the spread of the runs, "));
  d = with_gain(0.75 - 2 * tolerance);
  EXPECT_FALSE(d["predictions"][0]["within_bound"].get<bool>());
  EXPECT_THAT(prediction_text(d), HasSubstr("(more than the bound)"));
}

TEST(StudyPrediction, KnowsTheMissesOfStream) {
  const calibrate::StreamPlan plan{3 * (64 << 20), 4}; // 3 x 16,384 pages
  auto walks = misses_of_stream(plan, 2048, 4096);
  EXPECT_EQ(walks.pages, 3 * 16384);
  // Each pass misses on each page of its arrays: 2 + 2 + 3 + 3 arrays per repeat, then the check.
  EXPECT_EQ(walks.misses, (4 * 10 + 3) * 16384);
  walks = misses_of_stream(plan, 1 << 20, 4096); // a TLB that holds all pages
  EXPECT_EQ(walks.misses, 0);
  try {
    const StudyPredictor impossible({"", zen4(), "./app", std::nullopt, "there is no PMU here"});
    FAIL() << "accepted";
  } catch (const Failure &failure) {
    EXPECT_THAT(failure.why, HasSubstr("there is no PMU here"));
  }
}

TEST(StudyPrediction, StreamComputesWhatItSays) {
  const auto rates = calibrate::run_stream({3 << 20, 3});
  ASSERT_TRUE(rates);
  EXPECT_TRUE(rates->correct);
  for (double rate : rates->bytes_per_second)
    EXPECT_GT(rate, 0);
}

// Writes a trace of 20 laps over 100 pages, as a sampler with this rate records it.
std::string trace_of_laps(const char *rate, uint64_t weight) {
  static int number = 0;
  std::string path = testing::TempDir() + "smalloc-predict-" + std::to_string(getpid()) + "-" +
                     std::to_string(number++) + ".trace";
  unlink(path.c_str());
  trace::Output output;
  const std::string header = std::string("program=x\nrate=") + rate + "\n";
  EXPECT_EQ(output.open(path.c_str(), header.data(), header.size()), 0);
  trace::ThreadChunk *chunk = trace::ThreadChunk::create(output, 1);
  for (uint64_t lap = 0; lap < 20; lap++) {
    std::vector<trace::ThreadChunk::Access> list;
    for (uint64_t page = 0; page < 100; page++)
      list.push_back({(uint64_t{1} << 32) + page * 4096, 3, false});
    chunk->accesses(1000 + lap, weight, list.data(), list.size());
  }
  chunk->end(2000);
  chunk->flush();
  chunk->destroy();
  output.close();
  return path;
}

TEST(StudyPrediction, CountsTheMissesOfATrace) {
  const std::string path = trace_of_laps("1", 1);
  // A lap over more pages than entries always misses; over fewer, only the first time.
  const TracedMisses small = misses_of_trace(path, 64, 4096);
  EXPECT_EQ(small.misses, 2000);
  EXPECT_EQ(small.accesses, 2000 * 4);
  EXPECT_EQ(small.pages, 100);
  EXPECT_EQ(misses_of_trace(path, 128, 4096).misses, 100);
  unlink(path.c_str());
}

TEST(StudyPrediction, MakesUpForSampling) {
  const std::string path = trace_of_laps("0.5", 3);
  // Half of the pages are in the trace: 150 entries hold 75 of these 100, 256 hold all.
  const TracedMisses few = misses_of_trace(path, 150, 4096);
  EXPECT_EQ(few.misses, 2000 * 3 * 2);
  EXPECT_EQ(few.pages, 200);
  EXPECT_EQ(misses_of_trace(path, 256, 4096).misses, 100 * 3 * 2);
  unlink(path.c_str());
}

TEST(StudyPrediction, RefusesWhatHoldsNoAccesses) {
  try {
    misses_of_trace("/nonexistent.trace", 64, 4096);
    FAIL() << "accepted";
  } catch (const Failure &failure) {
    EXPECT_EQ(failure.what, "cannot read the trace");
  }
}

} // namespace
} // namespace smalloc::cli
