// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests intervals of a migrator on a described machine of two nodes. The samples come from an
// instrumented program (the test), and the kernel is scripted.
#include "runtime/numa/live/migrator.h"
#include "tests/unit/numa/fake_machine.h"

#include <cerrno>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

namespace smalloc::numa {
namespace {

std::map<uintptr_t, int> where; // by page
std::map<uintptr_t, int> refusals;
Backing backing;
unsigned queries, moves, splits;
Migrator *sampling_meanwhile;
uint64_t free_kilobytes;

long move_pages(unsigned long n, void **pages, const int *nodes, int *status) {
  (nodes ? moves : queries)++;
  if (sampling_meanwhile) // the lock is free while the kernel works
    std::thread([] { sampling_meanwhile->profile(); }).join();
  for (unsigned long i = 0; i < n; i++) {
    const auto page = reinterpret_cast<uintptr_t>(pages[i]);
    const auto r = refusals.find(page);
    if (nodes && r != refusals.end())
      status[i] = r->second;
    else
      status[i] = nodes ? where[page] = nodes[i] : where.count(page) ? where[page] : -ENOENT;
  }
  return 0;
}
long read_file(const char *path, char *buffer, size_t capacity) {
  const std::string text = strstr(path, "statm") ? "100000 90000 1 1 0 1 0"
                           : strstr(path, "meminfo")
                               ? "Node 0 MemFree: " + std::to_string(free_kilobytes) + " kB"
                               : "";
  if (text.empty())
    return -1;
  snprintf(buffer, capacity, "%s", text.c_str());
  return static_cast<long>(strlen(buffer));
}

struct MigratorTest : testing::Test {
  void SetUp() override {
    where.clear();
    refusals.clear();
    backing = Backing::kPages;
    queries = moves = splits = 0;
    sampling_meanwhile = nullptr;
    free_kilobytes = 1 << 20;
    topology = fake_topology(2);
    // Everything that this thread records comes from node 1, wherever it runs.
    memset(topology.node_of_cpu, 1, sizeof topology.node_of_cpu);
    AccessSources::Config config;
    config.wanted = CountSource::kInstrumented;
    config.sample_period = 1;
    ASSERT_EQ(sources.open(config, topology), nullptr);
    Touch t;
    while (sources.next(t)) {
    }
    hooks.mover = {move_pages, [](void *, size_t) { return 0; }, [] { return uint64_t{0}; },
                   [](void *) {
                     splits++;
                     return 0;
                   }};
    hooks.read = read_file;
    hooks.backing = [](uintptr_t) { return backing; };
    options.interval_ms = 1000;
    for (unsigned p = 0; p < kPagesPerUnit; p++)
      where[kUnit + p * kBasePageBytes] = 0;
    path = testing::TempDir() + "/migrator." + std::to_string(getpid());
  }
  void TearDown() override {
    sources.close();
    unlink(path.c_str());
  }
  void tell(unsigned page, unsigned accesses) {
    for (unsigned i = 0; i < accesses; i++)
      tell_access(kUnit + page * kBasePageBytes, 1);
  }
  std::string log_text() const {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  static constexpr uintptr_t kUnit = 64 * kSuperpageBytes;
  static constexpr uint64_t kSecond = 1000000000;
  Topology topology;
  AccessSources sources;
  MigrationLog log;
  LiveOptions options;
  Migrator::Hooks hooks;
  std::string path;
};

} // namespace

TEST_F(MigratorTest, PagesGoToWhoUsesThem) {
  Migrator m(options, topology, &sources, &log, hooks);
  for (unsigned interval = 0; interval < 2; interval++) {
    tell(3, 200); // at period 1 each saves 100 ns, and a move costs 2000
    tell(4, 1);
    EXPECT_EQ(m.profile(), 201u);
    m.interval(kSecond);
  }
  EXPECT_EQ(where[kUnit + 3 * kBasePageBytes], 1);
  EXPECT_EQ(where[kUnit + 4 * kBasePageBytes], 0); // a single sample is noise, two do not pay
  EXPECT_EQ(m.moved().pages, 1u);
  EXPECT_EQ(m.counters().samples, 402u);
  EXPECT_EQ(m.counters().by_node[1], 402u);
  EXPECT_EQ(m.counters().late, 0u);
}
TEST_F(MigratorTest, NothingToDoAsksTheKernelNothing) {
  Migrator m(options, topology, &sources, &log, hooks);
  for (unsigned i = 0; i < 10; i++) {
    EXPECT_EQ(m.profile(), 0u);
    m.interval(kSecond);
  }
  EXPECT_EQ(queries + moves, 0u);
  EXPECT_EQ(m.pages().bytes(), 0u);
}
TEST_F(MigratorTest, LooksAtAUnitOnceAndAgainMuchLater) {
  Migrator m(options, topology, &sources, &log, hooks);
  for (unsigned i = 0; i < 5; i++) {
    tell(1, 3);
    m.profile();
    m.interval(kSecond);
  }
  EXPECT_EQ(queries, 2u); // two batches of 256
  for (unsigned i = 0; i < 5; i++) {
    tell(1, 3);
    m.profile();
    m.interval(kSecond);
  }
  EXPECT_EQ(queries, 4u);
}
TEST_F(MigratorTest, SuperpagesMoveByOneAddress) {
  backing = Backing::kSuperpage;
  Migrator m(options, topology, &sources, &log, hooks);
  for (unsigned interval = 0; interval < 2; interval++) {
    for (unsigned p = 0; p < kPagesPerUnit; p++)
      tell(p, 10);
    m.profile();
    m.interval(kSecond);
  }
  EXPECT_EQ(m.moved().superpages, 1u);
  EXPECT_EQ(m.moved().pages, 0u);
  EXPECT_EQ(where[kUnit], 1);
}
TEST_F(MigratorTest, AFullTargetIsLeftAlone) {
  free_kilobytes = 1 << 10; // less than the reserve
  Migrator m(options, topology, &sources, &log, hooks);
  for (unsigned interval = 0; interval < 3; interval++) {
    tell(3, 400);
    m.profile();
    m.interval(kSecond);
  }
  EXPECT_EQ(moves, 0u);
  EXPECT_GE(m.policy().counters().target_full, 1u);
}
TEST_F(MigratorTest, FailuresAreCountedAndThePageIsLeftForAWhile) {
  refusals[kUnit + 3 * kBasePageBytes] = -EBUSY;
  Migrator m(options, topology, &sources, &log, hooks);
  for (unsigned interval = 0; interval < 4; interval++) {
    tell(3, 400);
    m.profile();
    m.interval(kSecond);
  }
  EXPECT_EQ(m.moved().failures[kBusy], 1u);
  EXPECT_GE(m.policy().counters().frozen, 1u);
}
TEST_F(MigratorTest, SamplesArriveWhileTheKernelMovesPages) {
  Migrator m(options, topology, &sources, &log, hooks);
  tell(3, 400);
  m.profile();
  tell(5, 7); // waits in the ring until a move lets the profiler in
  sampling_meanwhile = &m;
  m.interval(kSecond);
  EXPECT_EQ(m.counters().samples, 407u);
}
TEST_F(MigratorTest, AStoppedProcessIsOneLateInterval) {
  Migrator m(options, topology, &sources, &log, hooks);
  m.interval(60 * kSecond);
  m.interval(kSecond);
  EXPECT_EQ(m.counters().late, 1u);
  EXPECT_EQ(m.counters().intervals, 2u);
}
TEST_F(MigratorTest, EndingStopsTheMoves) {
  Migrator m(options, topology, &sources, &log, hooks);
  tell(3, 4000);
  m.profile();
  m.stop();
  m.interval(kSecond);
  EXPECT_EQ(moves, 0u);
}
TEST_F(MigratorTest, TheLogTellsEveryMoveAndTheCounters) {
  ASSERT_EQ(log.create(path.c_str()), 0);
  {
    Migrator m(options, topology, &sources, &log, hooks);
    for (unsigned interval = 0; interval < 2; interval++) {
      tell(3, 400);
      tell(9, 400);
      refusals[kUnit + 9 * kBasePageBytes] = -EACCES;
      m.profile();
      m.interval(kSecond);
    }
    m.end();
  }
  const std::string text = log_text();
  EXPECT_NE(text.find("address=0000000008003000 pages=1 from=0 to=1 action=page result=done\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("address=0000000008009000 pages=1 from=0 to=1 action=page result=stayed\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\nend intervals=2 "), std::string::npos);
  EXPECT_NE(text.find(" shared=1 "), std::string::npos);
  // And again, without a source.
  for (auto &[page, node] : where)
    node = 0;
  std::ofstream(path, std::ios::trunc) << kLogHeader << "\n" << text;
  MigrationLog none;
  Migrator again(options, topology, nullptr, &none, hooks);
  MigrationReplay moves;
  ASSERT_EQ(moves.load(path.c_str(), MigrationReplay::Kind::kReplay), nullptr);
  again.replay(moves);
  for (unsigned i = 0; i < 2; i++)
    again.interval(kSecond);
  EXPECT_EQ(again.replayed()->counters().done, 1u);
  EXPECT_EQ(where[kUnit + 3 * kBasePageBytes], 1);
}
TEST_F(MigratorTest, MemoryThatIsGoneIsForgotten) {
  Migrator m(options, topology, &sources, &log, hooks);
  tell(3, 400);
  m.profile();
  m.interval(kSecond);
  EXPECT_EQ(m.pages().count(), 1u);
  where.clear(); // unmapped
  for (unsigned i = 0; i < 20; i++)
    m.interval(kSecond);
  EXPECT_EQ(m.pages().count(), 0u);
}

} // namespace smalloc::numa
