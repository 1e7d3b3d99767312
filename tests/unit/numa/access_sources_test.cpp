// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests which source is chosen on which machine, how its events are opened, and which samples
// count. The test writes the rings instead of the kernel.
#include "runtime/numa/live/access_sources.h"
#include "tests/unit/numa/fake_machine.h"
#include "tests/unit/numa/fake_ring.h"

#include <cerrno>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

namespace smalloc::numa {
namespace {

struct Opened {
  perf_event_attr attr;
  int cpu;
  void *memory;
};
std::vector<Opened> opened;
std::map<std::string, std::string> files;
std::map<std::pair<uint32_t, uint64_t>, int> errors; // by type and config
int open_event(const perf_event_attr &attr, int cpu, size_t bytes, void **mapping) {
  if (const auto e = errors.find({attr.type, attr.config}); e != errors.end())
    return e->second;
  *mapping = aligned_alloc(4096, bytes);
  memset(*mapping, 0, bytes);
  opened.push_back({attr, cpu, *mapping});
  return 0;
}
void close_event(void *mapping, size_t) {
  free(mapping);
  std::erase_if(opened, [&](const Opened &o) { return o.memory == mapping; });
}
long read_file(const char *path, char *buffer, size_t capacity) {
  const auto f = files.find(path);
  if (f == files.end())
    return -1;
  snprintf(buffer, capacity, "%s", f->second.c_str());
  return static_cast<long>(strlen(buffer));
}
std::vector<unsigned char *> auxiliary; // by processor, in the order of opening
int open_auxiliary(const perf_event_attr &attr, int cpu, RingBytes bytes, void **mapping,
                   void **aux) {
  const int error = open_event(attr, cpu, bytes.ring, mapping);
  if (error)
    return error;
  auxiliary.push_back(static_cast<unsigned char *>(aligned_alloc(4096, bytes.aux)));
  *aux = auxiliary.back();
  return 0;
}
const PerfHooks kFake = {open_event, close_event, read_file, open_auxiliary};
// mov (%rbx),%rax at every address
size_t read_code(uint64_t, unsigned char *out, size_t bytes) {
  static const unsigned char code[] = {0x48, 0x8b, 0x03};
  memcpy(out, code, 3);
  return bytes < 3 ? bytes : 3;
}
const std::pair<uint32_t, uint64_t> kClockEvent = {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK};

struct AccessSourcesTest : testing::Test {
  void SetUp() override {
    opened.clear();
    auxiliary.clear();
    files.clear();
    errors.clear();
    topology = fake_topology(2);
    memset(topology.node_of_cpu, kNoNode, sizeof topology.node_of_cpu);
    topology.node_of_cpu[0] = 0;
    topology.node_of_cpu[5] = 1;
    config.hooks = &kFake;
    config.code = read_code;
  }
  void TearDown() override { sources.close(); }
  FakeRing ring(size_t i) { return FakeRing(opened[i].memory, 16 * 4096); }
  static uint64_t self(uint64_t thread = 99) {
    return static_cast<uint64_t>(getpid()) | thread << 32;
  }
  void have_pebs() {
    files["/sys/bus/event_source/devices/cpu/events/mem-loads"] = "event=0xcd,umask=0x1,ldlat=3\n";
    files["/sys/bus/event_source/devices/cpu/type"] = "4\n";
  }
  void no_clock() { errors[kClockEvent] = EACCES; }
  Topology topology;
  AccessSources::Config config;
  AccessSources sources;
};

} // namespace

TEST_F(AccessSourcesTest, PebsWhereTheProcessorHasIt) {
  have_pebs();
  config.sample_period = 500;
  ASSERT_EQ(sources.open(config, topology), nullptr);
  EXPECT_STREQ(sources.name(), "pmu");
  EXPECT_EQ(sources.stands_for(), 500u);
  ASSERT_EQ(opened.size(), 2u); // a ring for each processor
  const perf_event_attr &a = opened[1].attr;
  EXPECT_EQ(opened[1].cpu, 5);
  EXPECT_EQ(a.type, 4u);
  EXPECT_EQ(a.config, 0x1cdu);
  EXPECT_GT(a.config1, 0u); // the least latency of a sample
  EXPECT_EQ(a.precise_ip, 2u);
  EXPECT_EQ(a.sample_period, 500u);
  EXPECT_TRUE(a.inherit && a.exclude_kernel);
  EXPECT_TRUE(PerfRing::can_decode(a.sample_type));
}
TEST_F(AccessSourcesTest, OnlyWhatLeftTheNearCachesCounts) {
  have_pebs();
  ASSERT_EQ(sources.open(config, topology), nullptr);
  constexpr uint64_t kHit = PERF_MEM_LVL_HIT;
  const auto level = [](uint64_t l) { return l << PERF_MEM_LVL_SHIFT; };
  FakeRing r = ring(0);
  const auto sample = [&](uint64_t address, uint64_t source) {
    r.record(PERF_RECORD_SAMPLE, {0x401000, self(), address, 5, source});
  };
  sample(0x1000, level(kHit | PERF_MEM_LVL_L1));
  sample(0x2000, level(kHit | PERF_MEM_LVL_L2));
  sample(0x3000, level(kHit | PERF_MEM_LVL_REM_RAM1));
  sample(0x4000, level(PERF_MEM_LVL_NA));
  sample(0, level(kHit | PERF_MEM_LVL_LOC_RAM));                  // no address
  sample(0xffff800000000000, level(kHit | PERF_MEM_LVL_LOC_RAM)); // the kernel's
  r.record(PERF_RECORD_SAMPLE, {0x401000, 1, 0x5000, 5, 0});      // another process
  sources.ignore_thread(77);
  r.record(PERF_RECORD_SAMPLE, {0x401000, self(77), 0x6000, 5, 0});
  Touch t;
  ASSERT_TRUE(sources.next(t));
  EXPECT_EQ(t.address, 0x3000u);
  EXPECT_EQ(t.cpu, 5u);
  ASSERT_TRUE(sources.next(t));
  EXPECT_EQ(t.address, 0x4000u);
  EXPECT_FALSE(sources.next(t));
}
// smalloc's two threads start at once. ThreadSanitizer reports what they would lose now and then.
TEST_F(AccessSourcesTest, ThreadsMayIgnoreThemselvesAtOnce) {
  have_pebs();
  ASSERT_EQ(sources.open(config, topology), nullptr);
  {
    std::vector<std::jthread> threads;
    for (uint32_t id : {77, 78, 79, 80})
      threads.emplace_back([this, id] { sources.ignore_thread(id); });
  }
  FakeRing r = ring(0);
  for (uint32_t id : {77, 78, 79, 80, 81})
    r.record(PERF_RECORD_SAMPLE, {0x401000, self(id), id * 0x1000, 5, 0});
  Touch t;
  ASSERT_TRUE(sources.next(t));
  EXPECT_EQ(t.address, 81 * 0x1000u);
  EXPECT_FALSE(sources.next(t));
}
TEST_F(AccessSourcesTest, IbsOnTheOther) {
  files["/sys/bus/event_source/devices/ibs_op/type"] = "9\n";
  config.sample_period = 100;
  ASSERT_EQ(sources.open(config, topology), nullptr);
  EXPECT_STREQ(sources.name(), "pmu");
  EXPECT_EQ(opened[0].attr.type, 9u);
  EXPECT_EQ(opened[0].attr.sample_period % 16, 0u);
  EXPECT_FALSE(opened[0].attr.exclude_kernel);
}
TEST_F(AccessSourcesTest, TheClockWhereThereIsNoUnit) {
  if (const char *why = sources.open(config, topology))
    GTEST_SKIP() << why; // no decoder here
  EXPECT_STREQ(sources.name(), "clock");
  EXPECT_EQ(opened[0].attr.type, uint32_t{PERF_TYPE_SOFTWARE});
  EXPECT_EQ(opened[0].attr.sample_period, 1000000u);
  EXPECT_EQ(sources.stands_for(), 2500u); // a quarter of a millisecond at 100 ns
  std::vector<uint64_t> words = {0x401000, self(), 0, PERF_SAMPLE_REGS_ABI_64};
  for (uint64_t i = 0; i < kPerfRegisters; i++)
    words.push_back(0x7f0000000000 + (i << 12));
  ring(1).record(PERF_RECORD_SAMPLE, words);
  ring(1).record(PERF_RECORD_SAMPLE, {0x401000, self(), 0, PERF_SAMPLE_REGS_ABI_NONE});
  Touch t;
  ASSERT_TRUE(sources.next(t));
  EXPECT_EQ(t.address, 0x7f0000001000u); // %rbx
  EXPECT_FALSE(sources.next(t));
}
TEST_F(AccessSourcesTest, FaultsOnlyWhileTheKernelBalances) {
  no_clock();
  EXPECT_NE(sources.open(config, topology), nullptr);
  files["/proc/sys/kernel/numa_balancing"] = "1\n";
  ASSERT_EQ(sources.open(config, topology), nullptr);
  EXPECT_STREQ(sources.name(), "faults");
  EXPECT_EQ(opened[0].attr.config, uint64_t{PERF_COUNT_SW_PAGE_FAULTS});
  ring(0).record(PERF_RECORD_SAMPLE, {0x401000, self(), 0x7000, 0});
  Touch t;
  ASSERT_TRUE(sources.next(t));
  EXPECT_EQ(t.address, 0x7000u);
}
TEST_F(AccessSourcesTest, SaysWhyThereIsNone) {
  config.wanted = CountSource::kPmu;
  EXPECT_STREQ(sources.open(config, topology), "this processor samples no data addresses");
  have_pebs();
  errors[{4u, 0x1cdu}] = EACCES;
  EXPECT_NE(strstr(sources.open(config, topology), "perf_event_paranoid"), nullptr);
  EXPECT_TRUE(opened.empty());
  Touch t;
  EXPECT_FALSE(sources.next(t));
}
TEST_F(AccessSourcesTest, OlderKernelsDoNotKnowInheritThread) {
  have_pebs();
  static int refused;
  refused = 0;
  static const PerfHooks older = {
      [](const perf_event_attr &attr, int cpu, size_t bytes, void **mapping) {
        if (attr.inherit_thread) {
          refused++;
          return EINVAL;
        }
        return open_event(attr, cpu, bytes, mapping);
      },
      close_event, read_file, open_auxiliary};
  config.hooks = &older;
  ASSERT_EQ(sources.open(config, topology), nullptr);
  EXPECT_EQ(refused, 1); // the refusal is remembered
  EXPECT_EQ(opened.size(), 2u);
}
TEST_F(AccessSourcesTest, WhatTheProgramTellsGoesFirst) {
  have_pebs();
  config.sample_period = 10;
  ASSERT_EQ(sources.open(config, topology), nullptr);
  ring(0).record(PERF_RECORD_SAMPLE, {0x401000, self(), 0x3000, 5, 0});
  for (int i = 0; i < 95; i++)
    tell_access(0x9000 + static_cast<uint64_t>(i), 1);
  Touch t;
  unsigned n = 0;
  while (sources.next(t)) {
    EXPECT_EQ(t.address & ~uint64_t{0xfff}, 0x9000u);
    n++;
  }
  EXPECT_EQ(n, 9u); // every tenth access
  EXPECT_STREQ(sources.name(), "instrumented");
  tell_access(0x9000, 15); // five had been counted towards the next sample
  while (sources.next(t))
    n++;
  EXPECT_EQ(n, 11u);
}

// Arm's unit writes its records beside the ring; they are synthesised here, as in
// spe_ring_test.cpp.
TEST_F(AccessSourcesTest, SpeWhereTheProcessorHasIt) {
  files["/sys/bus/event_source/devices/arm_spe_0/type"] = "9\n";
  config.sample_period = 2048;
  ASSERT_EQ(sources.open(config, topology), nullptr);
  EXPECT_STREQ(sources.name(), "pmu");
  EXPECT_EQ(sources.stands_for(), 2048u);
  ASSERT_EQ(opened.size(), 2u);
  ASSERT_EQ(auxiliary.size(), 2u);
  EXPECT_EQ(opened[1].attr.type, 9u);
  EXPECT_EQ(opened[1].attr.sample_period, 2048u);
  EXPECT_EQ(opened[1].attr.config >> 33 & 3, 3u); // loads and stores
  // Of processor 5: a load that missed the first level, one that did not, and one of the kernel's.
  auto *page = static_cast<perf_event_mmap_page *>(opened[1].memory);
  const auto load = [&](uint64_t ip, uint64_t address, unsigned events) {
    unsigned char *at = auxiliary[1] + page->aux_head;
    const auto put = [&at](unsigned header, uint64_t payload, unsigned bytes) {
      *at++ = static_cast<unsigned char>(header);
      for (unsigned i = 0; i < bytes; i++)
        *at++ = static_cast<unsigned char>(payload >> (8 * i));
    };
    put(0xb0, ip, 8);
    put(0x49, 0, 1);
    put(0xb2, address, 8);
    put(0x52, events, 2);
    put(0x01, 0, 0);
    page->aux_head = static_cast<uint64_t>(at - auxiliary[1]);
  };
  load(0x401000, 0x7000, 1u << 3);
  load(0x401000, 0x8000, 0);
  load(0x00ffff8000001000, 0x9000, 1u << 3);
  load(0x401000, 0xa000, 1u << 3);
  Touch t;
  ASSERT_TRUE(sources.next(t));
  EXPECT_EQ(t.address, 0x7000u);
  EXPECT_EQ(t.cpu, 5u);
  ASSERT_TRUE(sources.next(t));
  EXPECT_EQ(t.address, 0xa000u);
  EXPECT_FALSE(sources.next(t));
}

// A replay opens the same events as the recorded run, to keep the same addresses.
TEST_F(AccessSourcesTest, IdleSourcesAreThereAndCountNothing) {
  have_pebs();
  config.idle = true;
  config.sample_period = 1;
  ASSERT_EQ(sources.open(config, topology), nullptr);
  ASSERT_EQ(opened.size(), 2u);
  EXPECT_TRUE(opened[0].attr.disabled && opened[1].attr.disabled);
  tell_access(0x9000, 100);
  Touch t;
  EXPECT_FALSE(sources.next(t));
}

// A loop over a power of two: every page is sampled in time, not the same few for ever.
TEST_F(AccessSourcesTest, RegularLoopsShowAllTheirPages) {
  config.sample_period = 1024;
  config.wanted = CountSource::kInstrumented;
  ASSERT_EQ(sources.open(config, topology), nullptr);
  constexpr unsigned kPages = 128, kLines = 64, kRounds = 200;
  std::map<uint64_t, unsigned> seen;
  uint64_t samples = 0;
  Touch t;
  for (unsigned round = 0; round < kRounds; round++) {
    for (uint64_t page = 0; page < kPages; page++) // half a page at once, as a walk is recorded
      for (unsigned half = 0; half < 2; half++)
        tell_access(0x100000 + page * 4096, kLines / 2);
    for (; sources.next(t); samples++)
      seen[t.address]++;
  }
  EXPECT_EQ(seen.size(), kPages);
  EXPECT_NEAR(static_cast<double>(samples), 1.0 * kPages * kLines * kRounds / 1024, 2);
}

// Computes the sampling error of the paper's Table 1: D = |R_sample - R_all| / R_all, where R is
// one node's share of the accesses.
TEST_F(AccessSourcesTest, EveryNthAccessKeepsTheShares) {
  for (const unsigned period : {4096u, 1024u, 256u}) {
    config.sample_period = period;
    config.wanted = CountSource::kInstrumented;
    ASSERT_EQ(sources.open(config, topology), nullptr);
    uint64_t sampled[2] = {}, all[2] = {};
    Touch t;
    while (sources.next(t)) {
    }
    uint64_t state = 12345;
    for (unsigned i = 0; i < 8000000; i++) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      const unsigned who =
          state >> 33 & 3 ? 0 : 1; // a quarter of the accesses are to the second page
      all[who]++;
      tell_access(0x100000 + who * 4096, 1);
      if (i % (1u << 16) == 0)
        while (sources.next(t))
          sampled[t.address >= 0x101000]++;
    }
    while (sources.next(t))
      sampled[t.address >= 0x101000]++;
    const double r_all = static_cast<double>(all[1]) / static_cast<double>(all[0] + all[1]);
    const double r = static_cast<double>(sampled[1]) / static_cast<double>(sampled[0] + sampled[1]);
    EXPECT_LT(std::abs(r - r_all) / r_all, 0.12) << period;
    EXPECT_NEAR(static_cast<double>(sampled[0] + sampled[1]), 8000000.0 / period, 2);
  }
}

} // namespace smalloc::numa
