// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests reports of runs: which lines are accepted, and that each gets into the history once.
#include "runtime/database/run_lines.h"
#include "runtime/database/schema.h"
#include "smalloc/agent/run_report.h"
#include "tests/unit/database/temporary_folder.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// Bytes of the files of reports that can be read; behind them each read fails.
static size_t g_readable_bytes = SIZE_MAX;

// Takes the place of the C library's: a file of reports then has a bad sector.
extern "C" ssize_t read(int fd, void *data, size_t bytes) {
  if (g_readable_bytes != SIZE_MAX) {
    const auto at = static_cast<size_t>(lseek(fd, 0, SEEK_CUR));
    if (at >= g_readable_bytes) {
      errno = EIO;
      return -1;
    }
    bytes = std::min(bytes, g_readable_bytes - at);
  }
  return syscall(SYS_read, fd, data, bytes);
}

namespace smalloc::database {
namespace {

// Returns a line as libsmalloc writes it.
std::string line_of(uint64_t started_ns, smalloc::Verdict verdict = smalloc::Verdict::kHeld) {
  smalloc::RunReport report;
  report.build_id = "0badc0de";
  report.path = "/tmp/a \"strange\" one\n";
  report.host = "h";
  report.machine = "zen4";
  report.pid = 4711;
  report.started_ns = started_ns;
  report.ended_ns = started_ns + 2500000000;
  report.input_known = true;
  report.input = 0xff;
  report.user_us = 1250000;
  report.system_us = 7;
  report.peak_bytes = 100 << 20;
  report.minor_faults = 512;
  report.misses_known = true;
  report.tlb_misses = 123456789012;
  report.superpages_touched = 30;
  report.touch_us = 3700;
  report.policy = smalloc::Policy::kOtherInput;
  report.bar_thousandths = 12500;
  report.superpages_supply = 1000;
  report.superpages_peak = 32;
  report.superpages_at_first_touch = 30;
  static char buffer[65536];
  smalloc::RunLine line(buffer, sizeof buffer);
  line.begin(report);
  smalloc::Directives::Entry entry = {};
  entry.site = 0x0123456789abcdef;
  smalloc::SiteOutcome outcome;
  outcome.decision = smalloc::DirectiveOutcome::kTaken;
  outcome.predicted = 32;
  outcome.superpages_peak = 30;
  outcome.live_bytes_peak = 64 << 20;
  line.directive(entry, outcome, verdict);
  entry.context = 5;
  entry.has_context = true;
  line.directive(entry, outcome, smalloc::Verdict::kNotTaken);
  line.end();
  return {line.text().data, line.text().size};
}

struct RunLinesTest : testing::Test {
  RunLinesTest() : history(open_database(folder / "smalloc.db", Access::kReadWrite)) {
    mkdir((folder / "runs").c_str(), 0700);
  }
  Imported import() { return import_runs(folder / "runs", history); }
  void write(const std::string &name, const std::string &text) {
    std::ofstream(folder / ("runs/" + name)) << text;
  }
  size_t files() const {
    size_t n = 0;
    for ([[maybe_unused]] const auto &entry : std::filesystem::directory_iterator(folder / "runs"))
      n++;
    return n;
  }
  TemporaryFolder folder;
  History history;
};

TEST_F(RunLinesTest, WhatTheLibraryWritesIsUnderstood) {
  std::string why;
  const auto run = parse_run_line(line_of(1795292779013159257), why);
  ASSERT_TRUE(run.has_value()) << why;
  EXPECT_EQ(run->program, "0badc0de");
  EXPECT_EQ(run->path, "/tmp/a \"strange\" one?");
  EXPECT_EQ(run->kind, "superpages");
  EXPECT_EQ(run->input, "00000000000000ff");
  EXPECT_EQ(run->started_ns, 1795292779013159257);
  EXPECT_EQ(run->seconds, 2.5);
  EXPECT_EQ(run->user_seconds, 1.25);
  EXPECT_EQ(run->system_seconds, 0.000007);
  EXPECT_EQ(run->bar_percent, 12.5);
  EXPECT_EQ(run->superpages_supply, 1000);
  EXPECT_EQ(run->tlb_misses, 123456789012);
  EXPECT_EQ(run->superpages_touched, 30);
  EXPECT_EQ(run->touch_seconds, 0.0037);
  ASSERT_EQ(run->validations.size(), 2u);
  EXPECT_EQ(run->validations[0].site, "0123456789abcdef");
  EXPECT_EQ(run->validations[0].verdict, "held");
  EXPECT_TRUE(run->validations[0].taken);
  EXPECT_EQ(run->validations[1].context, "0000000000000005");
}

TEST_F(RunLinesTest, DirectedMediumPagesAreNoBasePages) {
  smalloc::RunReport report;
  report.build_id = "0badc0de";
  report.pid = 1;
  report.started_ns = 1;
  for (const bool got : {false, true}) {
    report.medium_got = got;
    static char buffer[4096];
    smalloc::RunLine line(buffer, sizeof buffer);
    line.begin(report);
    line.end();
    std::string why;
    const auto run = parse_run_line({line.text().data, line.text().size}, why);
    ASSERT_TRUE(run.has_value()) << why;
    EXPECT_EQ(run->kind, got ? "superpages" : "base");
    EXPECT_FALSE(run->tlb_misses.has_value());    // not counted
    EXPECT_FALSE(run->touch_seconds.has_value()); // nothing was touched in advance
  }
}

TEST_F(RunLinesTest, NonsenseIsRefused) {
  std::string why;
  for (const char *line : {"", "{}", "[]", "null", "x", "{\"schema\":\"smalloc.run/2\"}",
                           "{\"schema\":\"smalloc.run/1\"}",
                           "{\"schema\":\"smalloc.run/"
                           "1\",\"program\":\"XYZ\",\"pid\":1,\"started_ns\":1,\"kind\":\"base\"}",
                           "{\"schema\":\"smalloc.run/"
                           "1\",\"program\":\"aa\",\"pid\":-1,\"started_ns\":1,\"kind\":\"base\"}",
                           "{\"schema\":\"smalloc.run/"
                           "1\",\"program\":\"aa\",\"pid\":1,\"started_ns\":1,\"kind\":\"fast\"}",
                           "{\"schema\":\"smalloc.run/"
                           "1\",\"program\":\"aa\",\"pid\":1,\"started_ns\":99999999999999999999,"
                           "\"kind\":\"base\"}",
                           "{\"schema\":\"smalloc.run/"
                           "1\",\"program\":\"aa\",\"pid\":1,\"started_ns\":1,\"kind\":\"base\","
                           "\"user_seconds\":\"1\"}",
                           "{\"schema\":\"smalloc.run/"
                           "1\",\"program\":\"aa\",\"pid\":1,\"started_ns\":1,\"kind\":\"base\","
                           "\"directives\":[{\"site\":\"zz\"}]}"})
    EXPECT_FALSE(parse_run_line(line, why).has_value()) << line;
  EXPECT_FALSE(parse_run_line(std::string(100000, '['), why).has_value());
}

TEST_F(RunLinesTest, EachRunOnceAndTheFileIsGone) {
  write("0badc0de.jsonl", line_of(1) + "torn {\n" + line_of(2));
  write("feed.jsonl", line_of(2) + line_of(3));
  const Imported imported = import();
  EXPECT_EQ(imported.runs, 3);
  EXPECT_EQ(imported.known, 1);
  EXPECT_EQ(imported.bad_lines, 1);
  EXPECT_EQ(files(), 0u);
  EXPECT_EQ(history.runs("").size(), 3u);
  EXPECT_EQ(import().runs, 0);
}

TEST_F(RunLinesTest, WhatAFullDiskHasCutShortCostsItsOwnLineOnly) {
  write("0badc0de.jsonl", line_of(1).substr(0, 100) + line_of(2));
  const Imported imported = import();
  EXPECT_EQ(imported.runs, 1);
  EXPECT_EQ(imported.bad_lines, 1);
  EXPECT_EQ(history.runs("").front().started_ns, 2);
}

TEST_F(RunLinesTest, AnInterruptedImportIsFinishedByTheNext) {
  write("0badc0de.jsonl.99.importing", line_of(1) + line_of(2));
  history.store_run(*[] {
    std::string why;
    return parse_run_line(line_of(1), why);
  }());
  const Imported imported = import();
  EXPECT_EQ(imported.runs, 1);
  EXPECT_EQ(imported.known, 1);
  EXPECT_EQ(files(), 0u);
}

// Process ids come again: after a reboot, and in each container.
TEST_F(RunLinesTest, WhatAnInterruptedCommandOfTheSameProcessIdHasLeftIsKept) {
  write("0badc0de.jsonl." + std::to_string(getpid()) + ".importing", line_of(1));
  write("0badc0de.jsonl", line_of(2));
  EXPECT_EQ(import().runs, 2);
  EXPECT_EQ(files(), 0u);
}

TEST_F(RunLinesTest, WhatCannotBeReadIsKeptForTheNextCommand) {
  write("0badc0de.jsonl", line_of(1) + line_of(2));
  g_readable_bytes = line_of(1).size() + 10;
  const Imported first = import();
  g_readable_bytes = SIZE_MAX;
  EXPECT_EQ(first.runs, 1u);
  EXPECT_EQ(first.bad_lines, 0u); // the second line is not read yet
  EXPECT_EQ(files(), 1u);
  const Imported second = import();
  EXPECT_EQ(second.runs, 1u);
  EXPECT_EQ(second.known, 1u);
  EXPECT_EQ(files(), 0u);
}

TEST_F(RunLinesTest, WhatIsNotOursIsLeftAlone) {
  write("real.jsonl", line_of(1));
  ASSERT_EQ(symlink((folder / "runs/real.jsonl").c_str(), (folder / "runs/link.jsonl").c_str()), 0);
  ASSERT_EQ(mkfifo((folder / "runs/pipe.jsonl").c_str(), 0600), 0);
  mkdir((folder / "runs/folder.jsonl").c_str(), 0700);
  write("notes.txt", "mine");
  EXPECT_EQ(import().runs, 1);
  EXPECT_EQ(files(), 4u);
}

TEST_F(RunLinesTest, NoFolderIsNoRun) {
  EXPECT_EQ(import_runs(folder / "nosuch", history).runs, 0);
}

TEST_F(RunLinesTest, NothingIsWrittenWhereOthersMayWrite) {
  const std::string line = line_of(1);
  const auto append = [&](const std::string &state) {
    const char *why = smalloc::append_run(state.c_str(), nullptr, "0badc0de",
                                          smalloc::Text(line.data(), line.size()));
    return std::string(why ? why : "");
  };
  const std::string runs = folder / "smalloc/runs", file = runs + "/0badc0de.jsonl";
  ASSERT_EQ(append(folder.path), "");
  const auto whole = std::filesystem::file_size(file);
  chmod(file.c_str(), 0622);
  EXPECT_EQ(append(folder.path), "it is not a regular file of this user");
  EXPECT_EQ(std::filesystem::file_size(file), whole);
  // Another kind of file in its place.
  std::filesystem::rename(file, folder / "elsewhere");
  ASSERT_EQ(symlink((folder / "elsewhere").c_str(), file.c_str()), 0);
  EXPECT_EQ(append(folder.path), "it cannot be opened");
  std::filesystem::remove(file);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  EXPECT_EQ(append(folder.path), "it cannot be opened"); // it has no reader
  std::filesystem::remove(file);
  // The reports have not been imported for long.
  std::ofstream(file) << "";
  chmod(file.c_str(), 0600);
  std::filesystem::resize_file(file, (16 << 20) + 1);
  EXPECT_EQ(append(folder.path), "it is full; smalloc db list imports it");
  std::filesystem::remove(file);
  chmod(runs.c_str(), 0777);
  EXPECT_EQ(append(folder.path), "its folder cannot be made, or other users may write to it");
  EXPECT_FALSE(std::filesystem::exists(file));
  EXPECT_EQ(append(folder / "elsewhere"), // a file
            "its folder cannot be made, or other users may write to it");
  EXPECT_EQ(append("/" + std::string(950, 'x')), "the folder's name is too long");
  EXPECT_STREQ(
      smalloc::append_run("relative", "", "0badc0de", smalloc::Text(line.data(), line.size())),
      "neither XDG_STATE_HOME nor HOME is set");
}

TEST_F(RunLinesTest, AppendAndImportTogetherLoseNothing) {
  // A child writes as libsmalloc does, while this process imports again and again.
  constexpr int kLines = 400;
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < kLines; i++) {
      const std::string line = line_of(1000 + static_cast<uint64_t>(i));
      if (smalloc::append_run(folder.path.c_str(), nullptr, "0badc0de",
                              smalloc::Text(line.data(), line.size())))
        _exit(1);
    }
    _exit(0);
  }
  int64_t runs = 0, bad = 0;
  int status = 0;
  bool ended = false;
  for (;;) {
    const Imported imported = import_runs(folder / "smalloc/runs", history);
    runs += imported.runs;
    bad += imported.bad_lines;
    if (ended)
      break;
    ended = waitpid(child, &status, WNOHANG) == child;
  }
  EXPECT_EQ(status, 0);
  EXPECT_EQ(runs, kLines);
  EXPECT_EQ(bad, 0);
  struct stat info;
  ASSERT_EQ(stat((folder / "smalloc/runs").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
}

} // namespace
} // namespace smalloc::database
