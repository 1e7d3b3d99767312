// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests of the agent's sources: the kernel's files and other programs' claims, both with arbitrary
// contents.
#include "smalloc/agent/agent.h"
#include "tests/unit/core/fake_os.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

namespace smalloc {
constinit Directives g_directives;
constinit Agent g_agent;
namespace {

constexpr char kBuddy[] = "Node 0, zone      DMA      0      0      0      0      0      0      0  "
                          "    0      1      1      3 \n"
                          "Node 0, zone    DMA32      3      3      2      2      5      5      4  "
                          "    3      4      1    752 \n"
                          "Node 1, zone   Normal      4     30     92   4019   1512    355    489  "
                          "  190     91      2    542 \n";

TEST(AgentSupply, CountsBlocksOfASuperpageAndMore) {
  EXPECT_EQ(blocks_in_buddyinfo(kBuddy), (1 + 3 * 2) + (1 + 752 * 2) + (2 + 542 * 2u));
  EXPECT_EQ(blocks_in_buddyinfo(""), 0u);
  EXPECT_EQ(blocks_in_buddyinfo("zone"), 0u);
  EXPECT_EQ(blocks_in_buddyinfo("nonsense\nNode 0, zone X 1 2 3"), 0u);
  EXPECT_EQ(blocks_in_buddyinfo("Node 0, zone X 0 0 0 0 0 0 0 0 0 5 99999999999999999999999999"),
            5u);
}

TEST(AgentSupply, TrustsCompactionWithHalf) {
  FakeOs::reset();
  FakeOs::files["/proc/buddyinfo"] = "Node 0, zone X 9 0 0 0 0 0 0 0 0 100 0\n";
  FakeOs::files["/proc/meminfo"] =
      "MemTotal: 2048000 kB\nMemFree: 1 kB\nMemAvailable: 1024000 kB\n";
  const Supply supply = read_supply(FakeOs::hooks(), "/proc", "/sys", 0);
  EXPECT_EQ(supply.total, 1000u);
  EXPECT_EQ(supply.at_once, 100u);
  EXPECT_EQ(supply.free, 100u + (500 - 100) / 2);
  FakeOs::files.clear();
  EXPECT_EQ(read_supply(FakeOs::hooks(), "/proc", "/sys", 0).free, 0u);
}

TEST(AgentSupply, APoolIsWhatItIs) {
  FakeOs::reset();
  const std::string folder = "/sys/kernel/mm/hugepages/hugepages-1048576kB/";
  FakeOs::files[folder + "nr_hugepages"] = "4\n";
  FakeOs::files[folder + "free_hugepages"] = "3\n";
  FakeOs::files[folder + "resv_hugepages"] = "1\n";
  const Supply supply = read_supply(FakeOs::hooks(), "/proc", "/sys", size_t{1} << 30);
  EXPECT_EQ(supply.total, 4u * 512);
  EXPECT_EQ(supply.free, 2u * 512);
}

std::set<uint64_t> living;
bool lives(uint64_t pid, uint64_t start_ticks) { return start_ticks == 1 && living.count(pid); }

struct ClaimsTest : testing::Test {
  ClaimsTest() {
    char name[] = "/tmp/smalloc-claims.XXXXXX";
    folder = mkdtemp(name);
    file = folder + "/smalloc." + std::to_string(geteuid());
    living = {10, 20, 30};
  }
  ~ClaimsTest() override { std::filesystem::remove_all(folder); }
  SharedClaims of(uint64_t pid) const {
    SharedClaims claims;
    claims.init(folder.c_str(), {pid, 1, 0}, lives);
    return claims;
  }
  static uint64_t others(SharedClaims &claims, uint64_t mine) {
    uint64_t sum = 99;
    EXPECT_TRUE(claims.exchange(mine, sum));
    return sum;
  }
  std::string folder, file;
};

TEST_F(ClaimsTest, EachSeesTheOthers) {
  SharedClaims a = of(10), b = of(20), c = of(30);
  EXPECT_EQ(others(a, 100), 0u);
  EXPECT_EQ(others(b, 50), 100u);
  EXPECT_EQ(others(c, 7), 150u);
  EXPECT_EQ(others(a, 10), 57u);
  EXPECT_EQ(others(b, 50), 17u);
  struct stat info;
  ASSERT_EQ(stat(file.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(ClaimsTest, TheLastOneLeavesNothingBehind) {
  SharedClaims a = of(10), b = of(20);
  others(a, 100);
  others(b, 50);
  EXPECT_EQ(others(a, 0), 50u);
  EXPECT_TRUE(std::filesystem::exists(file));
  EXPECT_EQ(others(b, 0), 0u);
  EXPECT_FALSE(std::filesystem::exists(file));
  EXPECT_EQ(others(b, 0), 0u); // and a query does not create it again
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST_F(ClaimsTest, TheDeadClaimNothing) {
  SharedClaims a = of(10), b = of(20);
  others(a, 100);
  living.erase(10);
  EXPECT_EQ(others(b, 50), 0u);
  living.insert(10); // the same number, another process
  SharedClaims next;
  next.init(folder.c_str(), {10, 2, 0}, lives);
  uint64_t sum;
  EXPECT_TRUE(next.exchange(5, sum));
  EXPECT_EQ(sum, 50u);
}

TEST_F(ClaimsTest, AnythingMayStandInTheFile) {
  SharedClaims a = of(10), b = of(20);
  for (const std::string &contents :
       {std::string(), std::string("x"), std::string(kClaimsMagic),
        std::string(kClaimsMagic) + "abc", std::string(100000, '\xff'),
        std::string(kClaimsMagic) + std::string(100000, '\xff')}) {
    std::ofstream(file) << contents;
    chmod(file.c_str(), 0600);
    EXPECT_EQ(others(a, 100), 0u);
    EXPECT_EQ(others(b, 3), 100u);
    EXPECT_EQ(others(a, 0), 3u);
    others(b, 0);
  }
}

TEST_F(ClaimsTest, WhatOthersMayWriteToIsNotUsed) {
  SharedClaims a = of(10);
  uint64_t sum = 7;
  std::ofstream(file) << kClaimsMagic;
  chmod(file.c_str(), 0622);
  EXPECT_FALSE(a.exchange(5, sum));
  EXPECT_EQ(sum, 0u);
  unlink(file.c_str());
  std::ofstream(folder + "/target") << "mine";
  ASSERT_EQ(symlink((folder + "/target").c_str(), file.c_str()), 0);
  EXPECT_FALSE(a.exchange(5, sum));
  unlink(file.c_str());
  ASSERT_EQ(link((folder + "/target").c_str(), file.c_str()), 0);
  chmod(file.c_str(), 0600);
  EXPECT_FALSE(a.exchange(5, sum)); // a hard link to another file
  unlink(file.c_str());
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  EXPECT_FALSE(a.exchange(5, sum)); // and does not hang
  EXPECT_FALSE(a.claiming());
}

TEST_F(ClaimsTest, MoreProgramsThanPlaces) {
  for (uint64_t pid = 1000; pid < 1000 + 2 * kMostClaims; pid++) {
    living.insert(pid);
    SharedClaims claims = of(pid);
    const uint64_t before = others(claims, 1);
    EXPECT_EQ(before, std::min<uint64_t>(pid - 1000, kMostClaims));
  }
}

TEST_F(ClaimsTest, WithoutStartTimeOrFolderNothingIsShared) {
  SharedClaims none;
  none.init(folder.c_str(), {10, 0, 0}, lives);
  uint64_t sum;
  EXPECT_FALSE(none.exchange(5, sum));
  SharedClaims nowhere;
  nowhere.init("/nosuch", {10, 1, 0}, lives);
  EXPECT_FALSE(nowhere.exchange(5, sum));
}

// Tests the whole agent on a machine of 1,000 superpages, of which 400 are free.
struct AgentTest : ClaimsTest {
  AgentTest() {
    FakeOs::reset();
    free_superpages(400);
    config.os = &FakeOs::hooks();
    config.shm = folder.c_str();
    config.build_id = "0badc0de";
    config.input_known = true;
    config.input = 0xff;
    config.self = {10, 1, 0};
    config.alive = lives;
  }
  static void free_superpages(unsigned n) {
    FakeOs::files["/proc/buddyinfo"] =
        "Node 0, zone X 9 0 0 0 0 0 0 0 0 " + std::to_string(n) + " 0\n";
    FakeOs::files["/proc/meminfo"] =
        "MemTotal: 2048000 kB\nMemAvailable: " + std::to_string(n * 2048) + " kB\n";
  }
  void start(Agent &agent, const std::string &header, const std::string &lines) {
    const std::string path = folder + "/d";
    std::ofstream(path) << "# smalloc.directives/1 " << header << "\n" << lines;
    directives = {};
    ASSERT_EQ(directives.load(path.c_str()), nullptr);
    agent.start(directives, config);
  }
  DirectiveOutcome of_site(uint64_t site) { return directives.find(site, 0)->decision; }
  Directives directives;
  Agent::Config config;
  Agent agent;
};
constexpr char kSame[] = "program=0badc0de input=00000000000000ff seconds=10.000 saved_ms=4000";
constexpr char kLines[] = "0000000000000001 page=2m pmb=100.0 superpages=350\n"
                          "0000000000000002 page=2m pmb=60.0 superpages=100\n"
                          "0000000000000003 page=base pmb=0.1 superpages=9\n"
                          "0000000000000004 page=2m pmb=1.0 superpages=1 held=0/3\n";

TEST_F(AgentTest, TheSameInputTakesWhatFits) {
  start(agent, kSame, kLines);
  EXPECT_EQ(agent.policy(), Policy::kSameInput);
  EXPECT_EQ(of_site(2), DirectiveOutcome::kTaken);
  EXPECT_EQ(of_site(1), DirectiveOutcome::kDeferred);
  EXPECT_EQ(of_site(3), DirectiveOutcome::kBase);
  EXPECT_EQ(of_site(4), DirectiveOutcome::kBase); // a dropped directive
  EXPECT_EQ(agent.superpages_taken(), 100u);
  SharedClaims b = of(20);
  EXPECT_EQ(others(b, 1), 0u); // it could still be a shell, so it claims nothing
  agent.claim();
  EXPECT_EQ(others(b, 1), 100u);
  agent.end();
  EXPECT_EQ(others(b, 1), 0u);
}

TEST_F(AgentTest, AnotherInputOrBuildGoesByPmb) {
  config.input = 1;
  start(agent, kSame, kLines);
  EXPECT_EQ(agent.policy(), Policy::kOtherInput);
  EXPECT_EQ(of_site(1), DirectiveOutcome::kTaken);
  EXPECT_EQ(of_site(2), DirectiveOutcome::kTaken);
  EXPECT_EQ(agent.superpages_taken(), 400u); // no more than the supply
  config.input = 0xff;
  config.build_id = "feed";
  Agent other;
  other.start(directives, config);
  EXPECT_EQ(other.policy(), Policy::kOtherInput);
  // The same input wants as many superpages in any build: what fits is taken.
  EXPECT_EQ(of_site(1), DirectiveOutcome::kDeferred);
  EXPECT_EQ(of_site(2), DirectiveOutcome::kTaken);
}

TEST_F(AgentTest, WithoutSuperpagesNothingIsClaimed) {
  config.possible = false;
  start(agent, kSame, kLines);
  EXPECT_EQ(of_site(2), DirectiveOutcome::kTaken); // the heaps are as dense on base pages
  EXPECT_EQ(of_site(4), DirectiveOutcome::kBase);
  EXPECT_EQ(agent.superpages_taken(), 0u);
  SharedClaims b = of(20);
  EXPECT_EQ(others(b, 1), 0u);
}
TEST_F(AgentTest, ABudgetIsPartOfTheSupply) {
  config.most_superpages = 50;
  start(agent, kSame, kLines);
  EXPECT_EQ(agent.supply().free, 50u);
  EXPECT_EQ(of_site(2), DirectiveOutcome::kDeferred);
}

TEST_F(AgentTest, OtherProgramsRaiseTheBar) {
  SharedClaims b = of(20);
  others(b, 800);
  start(agent, kSame, kLines);
  EXPECT_EQ(agent.bar(), 80000u);
  EXPECT_EQ(agent.supply().free, 200u);
  EXPECT_EQ(of_site(2), DirectiveOutcome::kDeferred); // would fit, but its PMB is only 60 %
}

TEST_F(AgentTest, SlowerThanOnBasePagesIsPutBack) {
  start(agent, std::string(kSame) + " verdict=slower", kLines);
  EXPECT_EQ(agent.policy(), Policy::kAllBase);
  EXPECT_EQ(of_site(1), DirectiveOutcome::kBase);
  EXPECT_EQ(of_site(2), DirectiveOutcome::kBase);
  config.build_id = "feed"; // another build may be faster
  Agent other;
  other.start(directives, config);
  EXPECT_EQ(other.policy(), Policy::kOtherInput);
}

TEST_F(AgentTest, OnlyInputsThatWereSlowerArePutBack) {
  const std::string slower = std::string(kSame) + " verdict=slower slower_inputs=";
  const auto policy_of = [&](const std::string &inputs, uint64_t input, bool known = true) {
    config.input = input;
    config.input_known = known;
    Agent one;
    start(one, slower + inputs, kLines);
    return one.policy();
  };
  const std::string two = "00000000000000fe,00000000000000fd";
  EXPECT_EQ(policy_of(two, 0xff), Policy::kSameInput);
  EXPECT_EQ(policy_of(two, 0xfe), Policy::kAllBase);
  EXPECT_EQ(policy_of(two, 0xfd), Policy::kAllBase);
  EXPECT_EQ(policy_of(two, 0xfd, false), Policy::kOtherInput); // the own input is unknown
  EXPECT_EQ(policy_of("unknown", 0xff), Policy::kSameInput);
  EXPECT_EQ(policy_of("unknown", 0, false), Policy::kAllBase);
  EXPECT_EQ(policy_of("unknown,00000000000000ff", 0xff), Policy::kAllBase);
  std::string many = "0000000000000000";
  for (int i = 1; i < SMALLOC_DIRECTIVE_SLOWER_INPUTS; i++)
    many += ",0000000000000000";
  EXPECT_EQ(policy_of(many, 0xff), Policy::kSameInput);
  EXPECT_EQ(policy_of(many + ",0000000000000000", 0xff), Policy::kAllBase); // too many to list
}

TEST_F(AgentTest, AnotherInputsBaseHistoryIsForgotten) {
  const std::string base = std::string(kSame) + " base_runs=3 base_input=00000000000000";
  start(agent, base + "ff", kLines);
  EXPECT_EQ(directives.header().base_runs, 3u);
  Agent other;
  start(other, base + "fe", kLines);
  EXPECT_EQ(directives.header().base_runs, 0u);
}

TEST_F(AgentTest, AVerdictThatNamesNoProgramIsForAll) {
  start(agent, "verdict=slower", kLines);
  EXPECT_EQ(agent.policy(), Policy::kAllBase);
  Agent other;
  start(other, "program=feed verdict=slower", kLines); // another program's
  EXPECT_EQ(other.policy(), Policy::kOtherInput);
}

TEST_F(AgentTest, APhaseThatEndsGivesItsSuperpagesToTheNext) {
  config.most_superpages = 400; // a budget
  start(agent, kSame, kLines);
  std::map<uint64_t, DirectiveOutcome> changes;
  const auto note = [](Directives::Entry *entry, DirectiveOutcome, void *data) {
    (*static_cast<std::map<uint64_t, DirectiveOutcome> *>(data))[entry->site] = entry->decision;
  };
  Directives::Entry *one = directives.find(1, 0), *two = directives.find(2, 0);
  EXPECT_FALSE(agent.note_live(one, 7)); // too small a change
  EXPECT_FALSE(agent.note_live(one, 0));
  EXPECT_TRUE(agent.note_live(two, 100));
  agent.decide_anew(1000000000, note, &changes);
  EXPECT_TRUE(changes.empty());
  EXPECT_TRUE(agent.note_live(one, 350));
  agent.decide_anew(1000000001, note, &changes); // too soon
  EXPECT_TRUE(changes.empty());
  agent.decide_anew(2000000000, note, &changes);
  EXPECT_TRUE(changes.empty()); // both together exceed the supply
  EXPECT_TRUE(agent.note_live(two, 0));
  agent.decide_anew(3000000000, note, &changes);
  EXPECT_EQ(changes, (std::map<uint64_t, DirectiveOutcome>{{1, DirectiveOutcome::kTaken}}));
  EXPECT_EQ(agent.phases(), 1u);
  // The claim follows the decision, not the earlier state.
  SharedClaims beside = of(20);
  EXPECT_EQ(others(beside, 1), 350u);
  others(beside, 0);
  // And back: the second one returns, and is worth more per superpage.
  EXPECT_TRUE(agent.note_live(two, 100));
  agent.decide_anew(4000000000, note, &changes);
  EXPECT_EQ(of_site(2), DirectiveOutcome::kTaken);
  EXPECT_EQ(of_site(1), DirectiveOutcome::kDeferred);
  // The claim follows.
  SharedClaims b = of(20);
  EXPECT_LE(others(b, 1), 400u);
}

TEST_F(AgentTest, WhatIsBelowTheBarTakesNoRoomFromWhatIsNot) {
  SharedClaims b = of(20);
  others(b, 500);
  free_superpages(480);
  start(agent, kSame,
        "0000000000000001 page=2m pmb=40.0 superpages=100\n"
        "0000000000000002 page=2m pmb=100.0 superpages=450\n");
  EXPECT_EQ(agent.bar(), 50000u);
  EXPECT_EQ(of_site(2), DirectiveOutcome::kTaken);
  const auto ignore = [](Directives::Entry *, DirectiveOutcome, void *) {};
  EXPECT_TRUE(agent.note_live(directives.find(2, 0), 450));
  agent.decide_anew(1000000000, ignore, nullptr);
  EXPECT_TRUE(
      agent.note_live(directives.find(1, 0), 100)); // worth more per superpage, but below the bar
  agent.decide_anew(2000000000, ignore, nullptr);
  EXPECT_EQ(of_site(1), DirectiveOutcome::kDeferred);
  EXPECT_EQ(of_site(2), DirectiveOutcome::kTaken);
  EXPECT_EQ(agent.superpages_taken(), 450u);
}

TEST_F(AgentTest, MigrationMayCostWhatTheProfilePromisedForTheRest) {
  start(agent, kSame,
        "0000000000000001 page=2m pmb=100.0 superpages=100\n"
        "0000000000000002 page=2m pmb=60.0 superpages=10\n");
  const Directives::Entry &one = *directives.find(1, 0);
  const uint64_t all = 4000000000u / 160 * 100;
  EXPECT_NEAR(static_cast<double>(agent.worth_ns(one, 100, 0)), static_cast<double>(all), 1000);
  EXPECT_NEAR(static_cast<double>(agent.worth_ns(one, 50, 0)), static_cast<double>(all) / 2, 1000);
  EXPECT_NEAR(static_cast<double>(agent.worth_ns(one, 200, 5000000000)),
              static_cast<double>(all) / 2, 1000);
}

TEST_F(AgentTest, APromiseBeyondAllTimeIsAThousandMillionSeconds) {
  start(agent, "program=abcd saved_ms=999999999999999999", kLines);
  EXPECT_EQ(agent.worth_ns(*directives.find(1, 0), 100, 0), Agent::kMostWorthNs);
}

TEST_F(AgentTest, WithoutAPromiseMigrationIsWorthNothing) {
  start(agent, "program=0badc0de", kLines);
  EXPECT_EQ(agent.worth_ns(*directives.find(1, 0), 100, 0), 0u);
}

TEST_F(AgentTest, HostileLinesAreJustNumbers) {
  std::string lines;
  for (unsigned i = 1; i <= 2000; i++) {
    char line[128];
    snprintf(line, sizeof line,
             "%016x page=2m pmb=72057594037927935.0 superpages=72057594037927935 held=0/1\n", i);
    lines += line;
  }
  start(agent,
        "seconds=99999999999999999 saved_ms=72057594037927935 input=zz program=" +
            std::string(1000, 'a'),
        lines);
  EXPECT_EQ(agent.count(DirectiveOutcome::kTaken), 1u); // by PMB: it takes the whole supply
  EXPECT_LE(agent.superpages_taken(), 400u);
  Directives::Entry *entry = directives.find(1, 0);
  agent.note_live(entry, UINT64_MAX);
  agent.decide_anew(1000000000, [](Directives::Entry *, DirectiveOutcome, void *) {}, nullptr);
}

TEST_F(AgentTest, TheLargestLinesAreWatchedInWhateverOrderTheyStand) {
  std::string lines;
  // Each line is larger than those before: all of these move by one place, the smallest drop out.
  for (unsigned i = 1; i <= 100; i++) {
    char line[128];
    snprintf(line, sizeof line, "%016x page=2m pmb=%u.0 superpages=%u\n", i, i, 10 * i);
    lines += line;
  }
  start(agent, kSame, lines);
  EXPECT_TRUE(agent.note_live(directives.find(100, 0), 1000));
  EXPECT_TRUE(agent.note_live(directives.find(37, 0), 370));
  EXPECT_FALSE(agent.note_live(directives.find(36, 0), 360)); // the 65th
  EXPECT_FALSE(agent.note_live(directives.find(1, 0), 1000));
  // A line that is not watched keeps its decision.
  const DirectiveOutcome before = of_site(1);
  agent.decide_anew(1000000000, [](Directives::Entry *, DirectiveOutcome, void *) {}, nullptr);
  EXPECT_EQ(of_site(1), before);
}

} // namespace
} // namespace smalloc
