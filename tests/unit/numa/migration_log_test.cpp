// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests that a log is written, cut, read back, replayed interval by interval, and turned into a
// placement.
#include "runtime/numa/live/migration_log.h"

#include <cerrno>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

namespace smalloc::numa {
namespace {

std::map<uintptr_t, int> where; // by page; absent: not resident
std::map<uintptr_t, int> refusals;
std::vector<uintptr_t> splits;
const MoverHooks kFake = {[](unsigned long n, void **pages, const int *nodes, int *status) -> long {
                            for (unsigned long i = 0; i < n; i++) {
                              const auto page = reinterpret_cast<uintptr_t>(pages[i]);
                              if (refusals.count(page))
                                status[i] = refusals[page];
                              else if (!where.count(page))
                                status[i] = -ENOENT;
                              else
                                status[i] = nodes ? where[page] = nodes[i] : where[page];
                            }
                            return 0;
                          },
                          [](void *, size_t) { return 0; }, [] { return uint64_t{0}; },
                          [](void *p) {
                            splits.push_back(reinterpret_cast<uintptr_t>(p));
                            return 0;
                          }};

struct MigrationLogTest : testing::Test {
  void SetUp() override {
    where.clear();
    refusals.clear();
    splits.clear();
    path = testing::TempDir() + "/numa_log." + std::to_string(getpid());
  }
  void TearDown() override { unlink(path.c_str()); }
  void write(const std::string &text) { std::ofstream(path) << text; }
  std::string read() const {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  static std::string move(unsigned interval, const char *address, unsigned pages, unsigned to,
                          const char *action = "page", const char *result = "done") {
    return "move interval=" + std::to_string(interval) + " address=" + address +
           " pages=" + std::to_string(pages) + " from=0 to=" + std::to_string(to) +
           " action=" + action + " result=" + result + "\n";
  }
  std::string path;
  const std::string header = std::string(kLogHeader) + " pid=1\n";
};

} // namespace

TEST_F(MigrationLogTest, TheHeaderSaysWhoCounted) {
  MigrationReplay replay;
  write(std::string(kLogHeader) + " pid=1 source=clock stands_for=9\n" +
        move(1, "0000000000003000", 1, 1));
  ASSERT_EQ(replay.load(path.c_str(), MigrationReplay::Kind::kReplay), nullptr);
  EXPECT_STREQ(replay.source(), "clock");
  MigrationReplay silent;
  write(header + move(1, "0000000000003000", 1, 1));
  ASSERT_EQ(silent.load(path.c_str(), MigrationReplay::Kind::kReplay), nullptr);
  EXPECT_STREQ(silent.source(), "");
}
TEST_F(MigrationLogTest, LinesOfMoves) {
  LoggedMove m;
  const auto parse = [&m](std::string line) {
    line.pop_back();
    return parse_logged_move(Text(line.data(), line.size()), m);
  };
  ASSERT_TRUE(parse(move(7, "00007f0000201000", 1, 3)));
  EXPECT_EQ(m.interval, 7u);
  EXPECT_EQ(m.address, 0x7f0000201000u);
  EXPECT_EQ(m.pages, 1u);
  EXPECT_EQ(m.to, 3);
  EXPECT_FALSE(m.split);
  ASSERT_TRUE(parse(move(7, "00007f0000200000", 512, 0, "split")));
  EXPECT_TRUE(m.split);
  for (const std::string &bad :
       {move(7, "00007f0000201000", 1, 3, "page", "stayed"), move(7, "7f00002010zz", 1, 3),
        move(7, "00007f0000201001", 1, 3), move(7, "00007f0000201000", 2, 3),
        move(7, "00007f0000201000", 1, 5000), move(7, "ffff7f0000201000", 1, 3),
        move(7, "00007f0000200000", 512, 1, "collapse"), std::string("end moves=3\n"),
        std::string("move \n"), std::string("\n")})
    EXPECT_FALSE(parse(bad)) << bad;
}
TEST_F(MigrationLogTest, WritesWholeLinesInPiecesAndKeepsErrno) {
  MigrationLog log;
  EXPECT_FALSE(log.on());
  log.line("nothing\n"); // is not written
  ASSERT_EQ(log.create(path.c_str()), 0);
  errno = 5;
  std::string expected;
  for (int i = 0; i < 3000; i++) {
    const std::string line = "line " + std::to_string(i) + "\n";
    log.line(Text(line.data(), line.size()));
    expected += line;
  }
  log.flush();
  EXPECT_EQ(errno, 5);
  EXPECT_EQ(read(), expected);
  MigrationLog refused;
  EXPECT_EQ(refused.create("/nowhere/at/all"), ENOENT);
  EXPECT_FALSE(refused.on());
}
TEST_F(MigrationLogTest, ReplaysIntervalByInterval) {
  write(header + move(1, "0000000000200000", 512, 1, "superpage") +
        move(2, "0000000000400000", 1, 1) + move(2, "0000000000401000", 1, 1) +
        move(3, "0000000000200000", 512, 0, "superpage"));
  where = {{0x200000, 0}, {0x400000, 0}, {0x401000, 0}};
  MigrationReplay replay;
  ASSERT_EQ(replay.load(path.c_str(), MigrationReplay::Kind::kReplay), nullptr);
  replay.interval(1, kFake);
  EXPECT_EQ(where[0x200000], 1);
  EXPECT_EQ(where[0x400000], 0);
  replay.interval(2, kFake);
  EXPECT_EQ(where[0x401000], 1);
  EXPECT_EQ(where[0x200000], 1);
  EXPECT_FALSE(replay.finished());
  replay.interval(3, kFake);
  EXPECT_EQ(where[0x200000], 0);
  EXPECT_TRUE(replay.finished());
  EXPECT_EQ(replay.counters().done, 4u);
}
TEST_F(MigrationLogTest, WhatIsAbsentIsTriedAgainAFewTimes) {
  write(header + move(1, "0000000000400000", 1, 1) + move(1, "0000000000600000", 1, 1));
  MigrationReplay replay;
  ASSERT_EQ(replay.load(path.c_str(), MigrationReplay::Kind::kReplay), nullptr);
  replay.interval(1, kFake);
  where[0x400000] = 0;
  replay.interval(2, kFake);
  EXPECT_EQ(where[0x400000], 1);
  for (uint32_t i = 3; i < 10; i++)
    replay.interval(i, kFake);
  EXPECT_TRUE(replay.finished());
  EXPECT_EQ(replay.counters().done, 1u);
  EXPECT_EQ(replay.counters().absent, 1u);
}
TEST_F(MigrationLogTest, APlacementIsTheLastWordOnEachPageAndWaits) {
  write(header + move(1, "0000000000200000", 512, 1, "superpage") +
        move(5, "0000000000200000", 512, 2, "superpage") + move(9, "0000000000400000", 1, 1));
  MigrationReplay replay;
  ASSERT_EQ(replay.load(path.c_str(), MigrationReplay::Kind::kPlace), nullptr);
  EXPECT_EQ(replay.counters().moves, 2u);
  for (uint32_t i = 1; i < 100; i++)
    replay.interval(i, kFake); // no page exists yet
  EXPECT_FALSE(replay.finished());
  where = {{0x200000, 0}, {0x400000, 0}};
  replay.interval(100, kFake);
  EXPECT_EQ(where[0x200000], 2);
  EXPECT_EQ(where[0x400000], 1);
  EXPECT_TRUE(replay.finished());
}
TEST_F(MigrationLogTest, AUnitPlacedAsAWholeTakesItsPagesAlong) {
  write(header + move(1, "0000000000200000", 1, 1) + move(1, "0000000000203000", 1, 1) +
        move(2, "0000000000400000", 512, 0, "split") + move(2, "0000000000401000", 1, 1) +
        move(5, "0000000000200000", 512, 2, "superpage") +
        move(5, "0000000000400000", 512, 2, "superpage") +
        move(6, "0000000000400000", 512, 2, "split") + move(6, "0000000000402000", 1, 1));
  MigrationReplay replay;
  ASSERT_EQ(replay.load(path.c_str(), MigrationReplay::Kind::kPlace), nullptr);
  where = {{0x200000, 0}, {0x203000, 2}, {0x400000, 0}, {0x401000, 2}, {0x402000, 2}};
  replay.interval(1, kFake);
  EXPECT_EQ(where[0x200000], 2);
  EXPECT_EQ(where[0x203000], 2); // the fake moves the first page alone
  EXPECT_EQ(where[0x400000], 2);
  EXPECT_EQ(where[0x401000], 2);
  EXPECT_EQ(where[0x402000], 1); // after the whole
  EXPECT_EQ(splits, std::vector<uintptr_t>{0x400000});
  EXPECT_TRUE(replay.finished());
}
TEST_F(MigrationLogTest, SplitsComeBeforeTheirPagesAndNotBeforeThereIsAnything) {
  write(header + move(1, "0000000000200000", 512, 0, "split") + move(1, "0000000000201000", 1, 1));
  MigrationReplay replay;
  ASSERT_EQ(replay.load(path.c_str(), MigrationReplay::Kind::kReplay), nullptr);
  replay.interval(1, kFake);
  EXPECT_TRUE(splits.empty());
  where = {{0x200000, 0}, {0x201000, 0}};
  replay.interval(2, kFake);
  EXPECT_EQ(splits, std::vector<uintptr_t>{0x200000});
  EXPECT_EQ(where[0x201000], 1);
  EXPECT_TRUE(replay.finished());
}
TEST_F(MigrationLogTest, BusyPagesAndThoseThatMayNotMove) {
  write(header + move(1, "0000000000200000", 1, 1) + move(1, "0000000000201000", 1, 1));
  refusals = {{0x200000, -EBUSY}, {0x201000, -EACCES}};
  MigrationReplay replay;
  ASSERT_EQ(replay.load(path.c_str(), MigrationReplay::Kind::kReplay), nullptr);
  replay.interval(1, kFake);
  EXPECT_EQ(replay.counters().failed, 1u);
  refusals.clear();
  where[0x200000] = 0;
  replay.interval(2, kFake);
  EXPECT_EQ(replay.counters().done, 1u);
  EXPECT_TRUE(replay.finished());
}
TEST_F(MigrationLogTest, RefusesWhatIsNoLogAndSurvivesACutOne) {
  EXPECT_STREQ(MigrationReplay().load("/nowhere/at/all", MigrationReplay::Kind::kReplay),
               "no such file");
  EXPECT_NE(MigrationReplay().load("/dev/null", MigrationReplay::Kind::kReplay), nullptr);
  write("hello\n");
  EXPECT_NE(MigrationReplay().load(path.c_str(), MigrationReplay::Kind::kReplay), nullptr);
  std::string text =
      header + move(1, "0000000000200000", 1, 1) + move(1, "0000000000201000", 1, 12);
  write(text.substr(0, text.size() - 1)); // killed while writing
  MigrationReplay replay;
  ASSERT_EQ(replay.load(path.c_str(), MigrationReplay::Kind::kReplay), nullptr);
  EXPECT_EQ(replay.counters().moves, 1u);
}

} // namespace smalloc::numa
