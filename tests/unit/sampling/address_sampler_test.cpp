// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests how each kind of event is opened, which of its samples count, and what they become in a
// trace. The test writes the rings in the kernel's place.
#include "runtime/numa/live/pages.h"
#include "runtime/sampling/address_sampler.h"
#include "runtime/trace/reader.h"
#include "runtime/trace/writer.h"
#include "tests/unit/numa/fake_ring.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

namespace smalloc::sampling {
namespace {

using numa::FakeRing;
using trace::SampledEvent;
using trace::SampleKind;

struct Opened {
  perf_event_attr attr;
  int cpu;
  size_t bytes;
  void *memory;
};
std::vector<Opened> opened;
std::vector<unsigned char *> auxiliary;
std::map<int, int> errors; // by processor
size_t most_bytes = SIZE_MAX;
bool knows_inherit_thread = true;

int open_event(const perf_event_attr &attr, int cpu, size_t bytes, void **mapping) {
  if (const auto e = errors.find(cpu); e != errors.end())
    return e->second;
  if (attr.inherit_thread && !knows_inherit_thread)
    return EINVAL;
  if (bytes > most_bytes)
    return EPERM;
  *mapping = aligned_alloc(4096, bytes);
  memset(*mapping, 0, bytes);
  opened.push_back({attr, cpu, bytes, *mapping});
  return 0;
}
void close_event(void *mapping, size_t) { free(mapping); }
int open_auxiliary(const perf_event_attr &attr, int cpu, numa::RingBytes bytes, void **mapping,
                   void **aux) {
  const int error = open_event(attr, cpu, bytes.ring, mapping);
  if (error)
    return error;
  auxiliary.push_back(static_cast<unsigned char *>(aligned_alloc(4096, bytes.aux)));
  memset(auxiliary.back(), 0, bytes.aux);
  *aux = auxiliary.back();
  return 0;
}
const numa::PerfHooks kFake = {open_event, close_event, nullptr, open_auxiliary};

constexpr SampledEvent kPebs = {SampleKind::kMisses, 4, 0x11d0, 0, 2, 1000};
constexpr SampledEvent kIbs = {SampleKind::kIbs, 11, 1 << 19, 0, 0, 65536};
constexpr SampledEvent kSpe = {SampleKind::kSpe, 12, 0x600010000, 0, 0, 65536};
constexpr SampledEvent kFaults = {SampleKind::kFaults, 1, 2, 0, 0, 1};

uint64_t self(uint64_t thread) { return static_cast<uint64_t>(getpid()) | thread << 32; }

struct AddressSamplerTest : testing::Test {
  void SetUp() override {
    opened.clear();
    auxiliary.clear();
    errors.clear();
    most_bytes = SIZE_MAX;
    knows_inherit_thread = true;
  }
  void TearDown() override { sampler.close(); }
  FakeRing ring(size_t i) { return FakeRing(opened[i].memory, opened[i].bytes - 4096); }
  // Adds a sample, with a data source for the events that have one.
  static void put(FakeRing ring, uint64_t time, uint64_t address, uint64_t thread = 7,
                  std::vector<uint64_t> source = {0}, uint64_t ip = 0x401000) {
    std::vector<uint64_t> words = {ip, self(thread), time, address, 0};
    words.insert(words.end(), source.begin(), source.end());
    ring.record(PERF_RECORD_SAMPLE, words);
  }
  std::vector<AddressSample> take(size_t most = 100) {
    std::vector<AddressSample> list(most);
    list.resize(sampler.take(list.data(), most));
    return list;
  }
  AddressSampler sampler;
};

} // namespace

TEST_F(AddressSamplerTest, AsksForAddressesAndTimes) {
  ASSERT_EQ(sampler.open(kPebs, 3, &kFake), 0);
  ASSERT_EQ(opened.size(), 3u); // a ring for each processor
  const perf_event_attr &a = opened[2].attr;
  EXPECT_EQ(opened[2].cpu, 2);
  EXPECT_EQ(a.type, 4u);
  EXPECT_EQ(a.config, 0x11d0u);
  EXPECT_EQ(a.precise_ip, 2u);
  EXPECT_EQ(a.sample_period, 1000u);
  EXPECT_TRUE(a.inherit && a.inherit_thread && a.exclude_kernel && a.use_clockid);
  EXPECT_EQ(a.clockid, CLOCK_MONOTONIC);
  EXPECT_TRUE(numa::PerfRing::can_decode(a.sample_type));
  EXPECT_TRUE(a.sample_type & PERF_SAMPLE_ADDR);
}

TEST_F(AddressSamplerTest, SamplesOfAllProcessorsInTheOrderOfTime) {
  ASSERT_EQ(sampler.open(kPebs, 2, &kFake), 0);
  put(ring(0), 30, 0x3000, 7, {PERF_MEM_OP_STORE});
  put(ring(0), 50, 0x5000);
  put(ring(1), 10, 0x1000, 8);
  put(ring(1), 40, 0x4000);
  const auto list = take();
  ASSERT_EQ(list.size(), 4u);
  EXPECT_EQ(list[0].address, 0x1000u);
  EXPECT_EQ(list[0].thread, 8u);
  EXPECT_EQ(list[0].time_ns, 10u);
  EXPECT_EQ(list[1].address, 0x3000u);
  EXPECT_TRUE(list[1].write);
  EXPECT_FALSE(list[2].write);
  EXPECT_EQ(list[3].address, 0x5000u);
  EXPECT_TRUE(take().empty());
}

TEST_F(AddressSamplerTest, NoMoreThanThereIsRoomFor) {
  ASSERT_EQ(sampler.open(kPebs, 1, &kFake), 0);
  for (uint64_t i = 1; i <= 5; i++)
    put(ring(0), i, i << 12);
  EXPECT_EQ(take(3).size(), 3u);
  EXPECT_EQ(take(3).size(), 2u);
}

TEST_F(AddressSamplerTest, WhatIsNotTheProgramsIsLeftOut) {
  ASSERT_EQ(sampler.open(kPebs, 1, &kFake), 0);
  sampler.ignore_thread(99);
  put(ring(0), 1, 0x1000, 99);
  put(ring(0), 2, 0xffff880000001000);
  put(ring(0), 3, 0x2000, 7, {0}, 0xffffffff81000000);
  put(ring(0), 4, 0);
  ring(0).record(PERF_RECORD_SAMPLE, {0x401000, 1 | uint64_t{1} << 32, 5, 0x3000, 0, 0});
  put(ring(0), 6, 0x4000);
  const auto list = take();
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].address, 0x4000u);
}

TEST_F(AddressSamplerTest, OfIbsThoseThatMissedTheTlb) {
  ASSERT_EQ(sampler.open(kIbs, 1, &kFake), 0);
  EXPECT_FALSE(opened[0].attr.exclude_kernel);
  const auto tlb = [](uint64_t bits) { return std::vector{bits << PERF_MEM_TLB_SHIFT}; };
  put(ring(0), 1, 0x1000, 7, tlb(PERF_MEM_TLB_HIT | PERF_MEM_TLB_L1));
  put(ring(0), 2, 0x2000, 7, tlb(PERF_MEM_TLB_MISS | PERF_MEM_TLB_L2));
  put(ring(0), 3, 0x3000, 7, tlb(PERF_MEM_TLB_HIT | PERF_MEM_TLB_L2));
  put(ring(0), 4, 0x4000, 7, tlb(PERF_MEM_TLB_NA));
  const auto list = take();
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].address, 0x2000u);
}

TEST_F(AddressSamplerTest, OfSpeThoseThatWalked) {
  ASSERT_EQ(sampler.open(kSpe, 1, &kFake), 0);
  ASSERT_EQ(auxiliary.size(), 1u);
  auto *page = static_cast<perf_event_mmap_page *>(opened[0].memory);
  const auto record = [&](uint16_t events, uint64_t address, bool store) {
    const auto byte = [&](unsigned b) {
      auxiliary[0][page->aux_head++] = static_cast<unsigned char>(b);
    };
    byte(0x52); // events, two bytes
    byte(events & 0xff);
    byte(events >> 8);
    byte(0x49); // a load or store
    byte(store ? 1 : 0);
    byte(0xb2); // data address
    for (int i = 0; i < 8; i++)
      byte(static_cast<unsigned>(address >> (8 * i) & 0xff));
    byte(0x01);
  };
  record(1 << 2, 0x1000, false);
  record(1 << 5, 0x2000, true);
  record(1 << 4, 0x3000, false);
  record(1 << 5, 0x1800, false);
  const auto list = take();
  ASSERT_EQ(list.size(), 2u); // as they came: they have no times
  EXPECT_EQ(list[0].address, 0x2000u);
  EXPECT_TRUE(list[0].write);
  EXPECT_EQ(list[1].address, 0x1800u);
  EXPECT_FALSE(list[1].write);
}

TEST_F(AddressSamplerTest, FaultsHaveNoDataSource) {
  ASSERT_EQ(sampler.open(kFaults, 1, &kFake), 0);
  put(ring(0), 5, 0x7000, 7, {});
  const auto list = take();
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].address, 0x7000u);
}

TEST_F(AddressSamplerTest, ProcessorsThatAreNotThere) {
  errors[0] = ENODEV;
  errors[2] = ENODEV;
  ASSERT_EQ(sampler.open(kPebs, 4, &kFake), 0);
  ASSERT_EQ(opened.size(), 2u);
  put(ring(1), 1, 0x1000);
  EXPECT_EQ(take().size(), 1u);
}

TEST_F(AddressSamplerTest, RefusalsAreTold) {
  errors[0] = EACCES;
  EXPECT_EQ(sampler.open(kPebs, 2, &kFake), EACCES);
  EXPECT_TRUE(take().empty());
  errors[0] = ENODEV;
  errors[1] = ENODEV;
  EXPECT_EQ(sampler.open(kPebs, 2, &kFake), ENODEV);
  errors.clear();
  errors[1] = EMFILE; // of the second; nothing is left open
  EXPECT_EQ(sampler.open(kPebs, 2, &kFake), EMFILE);
  EXPECT_TRUE(take().empty());
}

TEST_F(AddressSamplerTest, SmallerRingsAndOlderKernels) {
  most_bytes = 140 * 1024;
  knows_inherit_thread = false;
  ASSERT_EQ(sampler.open(kPebs, 2, &kFake), 0);
  EXPECT_EQ(opened[0].bytes, size_t{128 * 1024 + 4096});
  EXPECT_FALSE(opened[0].attr.inherit_thread);
  for (uint64_t i = 1; i <= 4000; i++) { // beyond the ring's end
    put(ring(0), i, i << 12);
    ASSERT_EQ(take().size(), 1u) << i;
  }
  most_bytes = 4096;
  AddressSampler none;
  EXPECT_EQ(none.open(kPebs, 1, &kFake), EPERM);
}

TEST_F(AddressSamplerTest, LostOnesAreCounted) {
  ASSERT_EQ(sampler.open(kPebs, 2, &kFake), 0);
  ring(0).record(PERF_RECORD_LOST, {1, 40});
  ring(1).record(PERF_RECORD_LOST, {1, 2});
  EXPECT_TRUE(take().empty());
  EXPECT_EQ(sampler.lost(), 42u);
}

// Samples in the kernel's form come out of the trace as accesses with a weight.
TEST_F(AddressSamplerTest, FromTheRingIntoATraceAndOutAgain) {
  ASSERT_EQ(sampler.open(kPebs, 1, &kFake), 0);
  for (uint64_t i = 0; i < 500; i++)
    put(ring(0), 1000 + i, 0x10000000 + i * 0x5000, 7, {i % 2 ? uint64_t{PERF_MEM_OP_STORE} : 0});
  const std::string path = testing::TempDir() + "smalloc-sampling." + std::to_string(getpid());
  const std::string header = "samples=tlb-misses\nperiod=1000\nrate=1\n";
  trace::Output output;
  ASSERT_EQ(output.open(path.c_str(), header.data(), header.size()), 0);
  trace::ThreadChunk *chunk = trace::ThreadChunk::create(output, 3);
  ASSERT_TRUE(chunk);
  for (const AddressSample &s : take(1000)) {
    const trace::ThreadChunk::Access access = {s.address, 0, s.write};
    chunk->accesses(s.time_ns, kPebs.period, &access, 1);
  }
  chunk->flush();
  output.close();
  chunk->destroy();
  trace::Reader reader(path);
  EXPECT_EQ(reader.header().at("samples"), "tlb-misses");
  uint64_t n = 0, writes = 0;
  reader.read([&](const trace::Event &e) {
    if (e.type != trace::Type::kAccess)
      return;
    EXPECT_EQ(e.weight, 1000u);
    EXPECT_EQ(e.time_ns, 1000 + n);
    for (const auto &run : e.accesses) {
      EXPECT_EQ(run.address, 0x10000000 + n * 0x5000);
      writes += run.write;
      n++;
    }
  });
  EXPECT_EQ(n, 500u);
  EXPECT_EQ(writes, 250u);
  unlink(path.c_str());
}

// Takes real page faults of this process, with their addresses, if the kernel allows it.
TEST_F(AddressSamplerTest, PageFaultsOfThisProcess) {
  const long cpus = sysconf(_SC_NPROCESSORS_CONF);
  if (const int error = sampler.open(kFaults, static_cast<unsigned>(cpus)))
    GTEST_SKIP() << "no perf events here: " << strerror(error);
  constexpr size_t kPages = 200;
  auto *memory = static_cast<char *>(numa::map_pages(kPages * 4096));
  for (size_t i = 0; i < kPages; i++)
    *reinterpret_cast<volatile char *>(memory + i * 4096) = 1;
  std::vector<bool> seen(kPages);
  for (const AddressSample &s : take(4000))
    if (s.address - reinterpret_cast<uintptr_t>(memory) < kPages * 4096)
      seen[(s.address - reinterpret_cast<uintptr_t>(memory)) / 4096] = true;
  // If superpages are always on, one fault may be for all of them.
  EXPECT_TRUE(seen[0] || std::count(seen.begin(), seen.end(), true) > 0);
  numa::unmap_pages(memory, kPages * 4096);
}

} // namespace smalloc::sampling
