// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests that the kernel's counts of TLB misses are added up and scaled, and that any error makes
// the number unknown, not wrong. The counts are invented, except in the last tests. Those count
// page faults in the same way, because machines without a PMU have them too.
#include "smalloc/process/miss_counter.h"

#include <gtest/gtest.h>

#include <cstring>
#include <linux/perf_event.h>
#include <map>
#include <optional>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace smalloc {
namespace {

struct Fake {
  struct File {
    uint64_t id = 0, count = 0, enabled = 100, running = 100;
  };
  std::map<int, File> files; // by descriptor
  std::vector<perf_event_attr> asked;
  bool filtered = false, loads = true, stores = true, has_identity = true;
} *g_fake;

const MissCounter::Calls kFake = {
    [] { return g_fake->filtered; },
    [](perf_event_attr &event) {
      g_fake->asked.push_back(event);
      const bool stores = event.config >> 8 & 0xff;
      if (!(stores ? g_fake->stores : g_fake->loads))
        return -1;
      const int fd = stores ? 301 : 300;
      g_fake->files[fd].id = static_cast<uint64_t>(fd) * 7;
      return fd;
    },
    [](int fd, uint64_t &id) {
      const auto file = g_fake->files.find(fd);
      if (file == g_fake->files.end() || !g_fake->has_identity)
        return false;
      id = file->second.id;
      return true;
    },
    [](int fd, void *to, size_t bytes) -> ssize_t {
      const Fake::File &file = g_fake->files.at(fd);
      const uint64_t values[3] = {file.count, file.enabled, file.running};
      memcpy(to, values, std::min(bytes, sizeof values));
      return static_cast<ssize_t>(std::min(bytes, sizeof values));
    },
    [](int fd) { g_fake->files.erase(fd); },
};

class MissCounterTest : public testing::Test {
protected:
  MissCounterTest() { g_fake = &fake; }
  ~MissCounterTest() override { g_fake = nullptr; }
  std::optional<uint64_t> misses() const {
    uint64_t n = 0;
    return counter.read(n) ? std::optional(n) : std::nullopt;
  }
  Fake fake;
  MissCounter counter;
};

TEST_F(MissCounterTest, AddsLoadsAndStores) {
  EXPECT_FALSE(misses());
  counter.start(kFake);
  fake.files[300].count = 1000;
  fake.files[301].count = 30;
  EXPECT_EQ(misses(), 1030u);
  fake.files[300].count += 5;
  EXPECT_EQ(misses(), 1035u);
  ASSERT_EQ(fake.asked.size(), 2u);
  for (const perf_event_attr &event : fake.asked) {
    EXPECT_EQ(event.type, uint32_t{PERF_TYPE_HW_CACHE});
    EXPECT_EQ(event.config & 0xff00ff,
              PERF_COUNT_HW_CACHE_DTLB | PERF_COUNT_HW_CACHE_RESULT_MISS << 16);
    EXPECT_TRUE(event.exclude_kernel && event.inherit && event.inherit_thread && !event.disabled);
  }
}

TEST_F(MissCounterTest, ManyProcessorsKnowLoadsOnly) {
  fake.stores = false;
  counter.start(kFake);
  fake.files[300].count = 7;
  EXPECT_EQ(misses(), 7u);
}

TEST_F(MissCounterTest, ScalesWhatWasCountedInTurns) {
  counter.start(kFake);
  fake.files[300] = {300 * 7, 1000, 400, 100};
  fake.files[301] = {301 * 7, 8, 400, 400};
  EXPECT_EQ(misses(), 4008u);
  fake.files[301].running = 0; // a counter was never free
  EXPECT_FALSE(misses());
}

TEST_F(MissCounterTest, AsksNothingBehindAFilter) {
  fake.filtered = true;
  counter.start(kFake);
  EXPECT_TRUE(fake.asked.empty());
  EXPECT_FALSE(misses());
}

TEST_F(MissCounterTest, IsUnknownWithoutEvents) {
  fake.loads = false;
  counter.start(kFake);
  EXPECT_EQ(fake.asked.size(), 1u);
  EXPECT_FALSE(misses());
}

TEST_F(MissCounterTest, ReadsNoFileOfTheProgramsOwn) {
  counter.start(kFake);
  fake.files[300].count = 7;
  fake.files[301].id++; // closed, and opened again
  EXPECT_FALSE(misses());
  fake.files.erase(301);
  EXPECT_FALSE(misses());
}

TEST_F(MissCounterTest, KeepsNothingThatItCouldNotTellFromOthers) {
  fake.has_identity = false;
  counter.start(kFake);
  EXPECT_TRUE(fake.files.empty());
  EXPECT_FALSE(misses());
}

// Calls the real kernel, for page faults.
const MissCounter::Calls kFaults = {
    [] { return false; },
    [](perf_event_attr &event) {
      if (event.config >> 8 & 0xff)
        return -1;
      event.type = PERF_TYPE_SOFTWARE;
      event.config = PERF_COUNT_SW_PAGE_FAULTS;
      return MissCounter::kKernel.open(event);
    },
    MissCounter::kKernel.identity,
    MissCounter::kKernel.read,
    MissCounter::kKernel.close,
};

void touch(size_t pages) {
  char *p = static_cast<char *>(
      mmap(nullptr, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  madvise(p, pages * 4096, MADV_NOHUGEPAGE);
  for (size_t i = 0; i < pages; i++)
    p[i * 4096] = 1;
  munmap(p, pages * 4096);
}

TEST(MissCounterOfTheKernel, CountsThreadsAndNoChildren) {
  MissCounter counter;
  counter.start(kFaults);
  uint64_t before = 0, own = 0, after = 0;
  if (!counter.read(before))
    GTEST_SKIP() << "the kernel counts no page faults here: perf_event_open is closed, or Linux is "
                    "older than 5.13";
  touch(500);
  ASSERT_TRUE(counter.read(own));
  EXPECT_GE(own - before, 500u);
  std::thread(touch, 3000).join();
  ASSERT_TRUE(counter.read(after));
  EXPECT_GE(after - own, 3000u);
  const pid_t child = fork();
  if (child == 0) {
    touch(20000);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  uint64_t with_child = 0;
  ASSERT_TRUE(counter.read(with_child));
  EXPECT_LT(with_child - after, 10000u);
}

} // namespace
} // namespace smalloc
