// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/database/history.h"
#include "runtime/database/schema.h"
#include "tests/unit/database/temporary_folder.h"

#include <gtest/gtest.h>

namespace smalloc::database {
namespace {

constexpr char kSite[] = "00000000000000aa";

struct HistoryTest : testing::Test {
  HistoryTest() : history(open_database(folder / "smalloc.db", Access::kReadWrite)) {}
  static database::Run run_at(int64_t started_ns, const std::string &verdict = "") {
    database::Run run;
    run.program = "0badc0de";
    run.path = "/bin/app";
    run.host = "h";
    run.machine = "zen4";
    run.pid = 4711;
    run.started_ns = started_ns;
    run.kind = verdict.empty() ? "base" : "superpages";
    run.input = "0000000000000001";
    run.seconds = 2;
    run.user_seconds = 1.25;
    run.system_seconds = 0.5;
    run.peak_bytes = 100 << 20;
    run.minor_faults = 512;
    run.policy = "same-input";
    run.bar_percent = 12.5;
    run.superpages_peak = 32;
    if (!verdict.empty())
      run.validations = {{kSite, "", true, 32, 30, 64 << 20, verdict}};
    return run;
  }
  static directives::File file(double pmb = 80) {
    directives::File f;
    f.header["machine"] = "zen4";
    f.entries[{0xaa, false, 0}] = {21, 1, 32, pmb, "", "f a.c:1"};
    f.entries[{0xbb, false, 0}] = {21, 2, 8, 50, "", "g a.c:9"};
    f.entries[{0xbb, true, 7}] = {12, 0, 8, 1, "", "g a.c:9"};
    return f;
  }
  TemporaryFolder folder;
  History history;
};

TEST_F(HistoryTest, ARunIsWhatItWas) {
  EXPECT_TRUE(history.store_run(run_at(5, "held")));
  EXPECT_FALSE(history.store_run(run_at(5, "held"))); // the same once more
  EXPECT_TRUE(history.store_run(run_at(6)));
  const auto runs = history.runs("0badc0de");
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].path, "/bin/app");
  EXPECT_EQ(runs[0].machine, "zen4");
  EXPECT_EQ(runs[0].user_seconds, 1.25);
  EXPECT_EQ(runs[0].bar_percent, 12.5);
  EXPECT_EQ(runs[0].superpages_peak, 32);
  EXPECT_FALSE(runs[0].major_faults.has_value());
  ASSERT_EQ(runs[0].validations.size(), 1u);
  EXPECT_EQ(runs[0].validations[0].verdict, "held");
  EXPECT_EQ(runs[0].validations[0].superpages_peak, 30);
  EXPECT_EQ(history.run(runs[1].id)->started_ns, 6);
  EXPECT_FALSE(history.run(99).has_value());
  EXPECT_TRUE(history.runs("other").empty());
}

// More rows than one statement has, some of them known and some twice.
TEST_F(HistoryTest, ManyRunsAtOnceAreStoredAndCountedAsOneAfterTheOther) {
  history.store_directives("0badc0de", "/bin/app", file());
  history.store_run(run_at(100, "held"));
  history.store_run(run_at(300, "held"));
  std::vector<database::Run> runs;
  for (int i = 1; i <= 300; i++) {
    runs.push_back(run_at(i, i % 3 ? "held" : "failed"));
    runs.back().path = i == 250 ? "" : "/bin/app" + std::to_string(i);
    runs.back().validations.push_back({"00000000000000bb", "", false, 1, 0, 0, "unused"});
  }
  runs.push_back(run_at(7, "failed"));
  runs.push_back(run_at(0));
  runs.back().program = "feed";
  const auto fresh = history.store_runs(runs);
  ASSERT_EQ(fresh.size(), runs.size());
  for (size_t i = 0; i < fresh.size(); i++)
    EXPECT_EQ(fresh[i], i != 99 && i != 299 && i != 300) << i;
  const auto stored = history.runs("0badc0de");
  ASSERT_EQ(stored.size(), 300u);
  for (size_t i = 0; i < stored.size(); i++) {
    EXPECT_EQ(stored[i].started_ns, static_cast<int64_t>(i) + 1);
    EXPECT_EQ(stored[i].validations.size(), i == 99 || i == 299 ? 1u : 2u) << i;
  }
  const auto entry = history.directives("0badc0de")->entries.at({0xaa, false, 0});
  EXPECT_EQ(entry.validated, 300u);                   // two before, 298 now
  EXPECT_EQ(entry.held, 201u);                        // two before, and 199 of those
  EXPECT_EQ(history.path_of("0badc0de"), "/bin/app"); // store_directives has seen it later
  EXPECT_EQ(history.path_of("feed"), "/bin/app");
  EXPECT_TRUE(history.store_runs({}).empty());
}

TEST_F(HistoryTest, ADirectiveThatDoesNotHoldLosesItsRankAndIsGivenUp) {
  history.store_directives("0badc0de", "/bin/app", file());
  const auto rank_of = [&](uint64_t site) {
    return history.directives("0badc0de")->entries.at({site, false, 0}).rank;
  };
  EXPECT_EQ(rank_of(0xaa), 1u);
  EXPECT_EQ(rank_of(0xbb), 2u);
  history.store_run(run_at(1, "failed"));
  EXPECT_EQ(rank_of(0xaa), 2u); // 40 of 80 are left, and the other has 50
  EXPECT_EQ(rank_of(0xbb), 1u);
  history.store_run(run_at(2, "failed"));
  history.store_run(run_at(3, "failed"));
  const auto entry = history.directives("0badc0de")->entries.at({0xaa, false, 0});
  EXPECT_EQ(entry.validated, 3u);
  EXPECT_TRUE(directives::is_given_up(entry));
  EXPECT_EQ(entry.rank, 0u);
  // Runs without a result for the directive change nothing.
  history.store_run(run_at(4, "short"));
  history.store_run(run_at(5, "unused"));
  EXPECT_EQ(history.directives("0badc0de")->entries.at({0xaa, false, 0}).validated, 3u);
}

TEST_F(HistoryTest, ANewAnalysisKeepsWhatRunsHaveShownWhileThePageSizeStays) {
  history.store_directives("0badc0de", "/bin/app", file());
  history.store_run(run_at(1, "held"));
  history.store_directives("0badc0de", "/bin/app", file(90));
  EXPECT_EQ(history.directives("0badc0de")->entries.at({0xaa, false, 0}).held, 1u);
  directives::File base = file(90);
  base.entries.at({0xaa, false, 0}).page_shift = 12;
  history.store_directives("0badc0de", "/bin/app", base);
  EXPECT_EQ(history.directives("0badc0de")->entries.at({0xaa, false, 0}).validated, 0u);
}

TEST_F(HistoryTest, DirectivesComeBackAsTheyWere) {
  EXPECT_FALSE(history.directives("0badc0de").has_value());
  history.store_directives("0badc0de", "/bin/app", file());
  directives::File expected = file();
  expected.header["program"] = "0badc0de";
  EXPECT_EQ(directives::print(*history.directives("0badc0de")), directives::print(expected));
}

TEST_F(HistoryTest, AnalysesKeepTheirRanking) {
  Analysis a;
  a.program = "0badc0de";
  a.created_ns = 10;
  a.machine = "zen4";
  a.significant = true;
  a.saved_joint = 1e9;
  a.saved_seconds = 0.25;
  a.ranking = {{1, "site", kSite, "f", "a.c", 3, 32, 64 << 20, 1e9, 9e8, 1.1e9, 100, true},
               {2, "static", "00000000000000ff", "", "app", 0, 4, 8 << 20, 1e7, 0, 2e7, 1, false}};
  history.store_analysis(a);
  const auto list = history.analyses("0badc0de");
  ASSERT_EQ(list.size(), 1u);
  ASSERT_EQ(list[0].ranking.size(), 2u);
  EXPECT_EQ(list[0].saved_seconds, 0.25);
  EXPECT_EQ(list[0].ranking[0].saved_high, 1.1e9);
  EXPECT_TRUE(list[0].ranking[0].chosen);
  EXPECT_EQ(list[0].ranking[1].kind, "static");
}

TEST_F(HistoryTest, PruneKeepsTheLatestOfEachProgram) {
  for (int i = 1; i <= 10; i++)
    history.store_run(run_at(i * 100, "held"));
  database::Run other = run_at(50);
  other.program = "feed";
  history.store_run(other);
  const auto removed = history.prune(800, 1);
  EXPECT_EQ(removed.runs, 7);
  EXPECT_EQ(removed.programs, 0);
  EXPECT_EQ(history.runs("0badc0de").size(), 3u);
  EXPECT_EQ(history.runs("feed").size(), 1u);
  const auto all = history.prune(800, 0);
  EXPECT_EQ(all.runs, 1);
  EXPECT_EQ(all.programs, 1);
  EXPECT_EQ(history.programs().size(), 1u);
}

TEST_F(HistoryTest, MergingTwiceIsMergingOnce) {
  History other(open_database(folder / "other.db", Access::kReadWrite));
  other.store_directives("0badc0de", "/bin/app", file());
  other.store_run(run_at(1, "held"));
  other.store_run(run_at(2, "failed"));
  Analysis a;
  a.program = "0badc0de";
  a.created_ns = 3;
  other.store_analysis(a);
  other.store_machine({"h", "zen4", "cpu", 2, 1 << 30, 5});
  history.store_run(run_at(2, "failed"));
  for (int i = 0; i < 2; i++) {
    history.merge(other);
    EXPECT_EQ(history.runs("0badc0de").size(), 2u);
    EXPECT_EQ(history.runs("0badc0de")[0].validations.size(), 1u);
    EXPECT_EQ(history.analyses("0badc0de").size(), 1u);
    EXPECT_EQ(history.machines().size(), 1u);
    EXPECT_EQ(history.directives("0badc0de")->entries.at({0xaa, false, 0}).validated, 2u);
  }
}

// A nightly merge of all hosts, with a prune after it.
TEST_F(HistoryTest, ForgottenRunsAreNotCountedAgain) {
  History other(open_database(folder / "other.db", Access::kReadWrite));
  other.store_directives("0badc0de", "/bin/app", file());
  other.store_run(run_at(1, "held"));
  other.store_run(run_at(2, "failed"));
  const auto validated = [](History &of) {
    return of.directives("0badc0de")->entries.at({0xaa, false, 0}).validated;
  };
  history.store_directives("0badc0de", "/bin/app", file());
  history.store_run(run_at(3, "held"));
  for (int night = 0; night < 3; night++) {
    history.merge(other);
    EXPECT_EQ(validated(history), 3u);
    EXPECT_EQ(history.runs("0badc0de").size(), night == 0 ? 3u : 1u);
    history.prune(INT64_MAX, 1);
  }
  // In the other direction: what the central history has pruned is in its counts.
  other.merge(history);
  EXPECT_EQ(validated(other), 3u);
  EXPECT_EQ(other.runs("0badc0de").size(), 3u);
  History third(open_database(folder / "third.db", Access::kReadWrite));
  third.merge(history);
  third.merge(other);
  EXPECT_EQ(validated(third), 3u);
}

// An import that was interrupted after it had stored the runs finds their reports again.
TEST_F(HistoryTest, AForgottenRunIsNotCountedWhenItsReportComesAgain) {
  history.store_directives("0badc0de", "/bin/app", file());
  EXPECT_TRUE(history.store_run(run_at(1, "failed")));
  EXPECT_TRUE(history.store_run(run_at(2, "held")));
  history.prune(INT64_MAX, 1);
  EXPECT_FALSE(history.store_run(run_at(1, "failed")));
  EXPECT_EQ(history.runs("0badc0de").size(), 1u);
  const auto entry = history.directives("0badc0de")->entries.at({0xaa, false, 0});
  EXPECT_EQ(entry.validated, 2u);
  EXPECT_EQ(entry.held, 1u);
}

// The history of a host that runs with a file of directives has none.
TEST_F(HistoryTest, RunsOfAHistoryWithoutDirectivesCountAsWell) {
  History other(open_database(folder / "other.db", Access::kReadWrite));
  other.store_run(run_at(1, "failed"));
  history.store_directives("0badc0de", "/bin/app", file());
  for (int i = 0; i < 2; i++) {
    history.merge(other);
    EXPECT_EQ(history.runs("0badc0de").size(), 1u);
    EXPECT_EQ(history.directives("0badc0de")->entries.at({0xaa, false, 0}).validated, 1u);
  }
}

TEST_F(HistoryTest, WhatRunsSayCountsWhicheverHistoryHasSeenThem) {
  History other(open_database(folder / "other.db", Access::kReadWrite));
  const auto analysed = [](History &where, int64_t at_ns) {
    Analysis a;
    a.program = "0badc0de";
    a.created_ns = at_ns;
    where.store_analysis(a);
    where.store_directives("0badc0de", "/bin/app", file());
  };
  analysed(other, 10);
  other.store_run(run_at(11, "held"));
  history.merge(other);
  for (int64_t at : {12, 13, 14})
    other.store_run(run_at(at, "failed"));
  history.store_run(run_at(15, "held"));
  for (int i = 0; i < 2; i++) {
    history.merge(other);
    const auto entry = history.directives("0badc0de")->entries.at({0xaa, false, 0});
    EXPECT_EQ(entry.validated, 5u);
    EXPECT_EQ(entry.held, 2u);
  }
  // A later analysis holds, with all earlier results, and with its own words.
  analysed(other, 20);
  auto later = file();
  later.header["seconds"] = "7";
  later.entries.at({0xaa, false, 0}).pmb_percent = 3;
  other.store_directives("0badc0de", "/bin/app", later);
  history.merge(other);
  const auto merged = history.directives("0badc0de");
  EXPECT_EQ(merged->header.at("seconds"), "7");
  EXPECT_EQ(merged->entries.at({0xaa, false, 0}).pmb_percent, 3);
  EXPECT_EQ(merged->entries.at({0xaa, false, 0}).validated, 5u);
  EXPECT_EQ(merged->entries.at({0xaa, false, 0}).held, 2u);
}

TEST_F(HistoryTest, DirectivesAreNoSightOfBeforeAnybodySawTheProgram) {
  history.store_directives("0badc0de", "/bin/app", file());
  EXPECT_GT(history.programs().at(0).first_seen_ns, 0);
  EXPECT_GT(history.programs().at(0).last_seen_ns, 0);
}

TEST_F(HistoryTest, ProgramsAreFoundByPathAndByBuildId) {
  const std::string longest(5000, 'x');
  for (int i = 1; i <= 4; i++) {
    database::Run run = run_at(i);
    run.program = std::string("ab") + std::to_string(i);
    run.path = i == 3 ? longest : i == 4 ? longest + "y" : "/bin/%";
    history.store_run(run);
  }
  using Ids = std::vector<std::string>;
  EXPECT_EQ(history.builds_at("/bin/%"), (Ids{"ab2", "ab1"}));
  EXPECT_EQ(history.builds_at(longest), Ids{"ab3"});
  EXPECT_EQ(history.builds_at("/bin/"), Ids());
  EXPECT_EQ(history.programs_like("ab"), (Ids{"ab4", "ab3", "ab2", "ab1"}));
  EXPECT_EQ(history.programs_like("ab3"), Ids{"ab3"});
  EXPECT_EQ(history.programs_like("a%"), Ids());
  EXPECT_EQ(history.path_of("ab2"), "/bin/%");
  EXPECT_EQ(history.path_of("ab9"), "");
  EXPECT_FALSE(history.has_directives("ab1"));
  history.store_directives("ab1", "/bin/app", file());
  EXPECT_TRUE(history.has_directives("ab1"));
  const auto programs = history.programs();
  ASSERT_EQ(programs.size(), 4u);
  EXPECT_EQ(programs.front().build_id, "ab1");
  EXPECT_EQ(programs.front().runs, 1);
  EXPECT_EQ(programs.front().analyses, 0);
  EXPECT_EQ(programs.front().directives, 3);
}

TEST_F(HistoryTest, TextOfAnyKindIsText) {
  database::Run run = run_at(1);
  run.path = "/tmp/o'brien\"; DROP TABLE runs; --";
  history.store_run(run);
  EXPECT_EQ(history.runs("0badc0de").at(0).path, run.path);
}

} // namespace
} // namespace smalloc::database
