// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests Arm SPE records, synthesised from the architecture's description of the packets: no machine
// with the unit was available.
#include "runtime/numa/live/spe_ring.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace smalloc::numa {
namespace {

constexpr size_t kAux = 256;

struct SpeRingTest : testing::Test {
  void put(std::initializer_list<unsigned> bytes) {
    for (unsigned b : bytes)
      aux[page.aux_head++ % kAux] = static_cast<unsigned char>(b);
  }
  void put64(uint64_t value, unsigned bytes = 8) {
    for (unsigned i = 0; i < bytes; i++)
      put({static_cast<unsigned>(value >> (8 * i) & 0xff)});
  }
  // Program counter (with level EL0), latency, a load, its address (with a tag), events, the end.
  void put_load(uint64_t ip, uint64_t address, unsigned cycles, unsigned events) {
    put({0xb0});
    put64(ip);
    put({0x98});
    put64(cycles, 2);
    put({0x49, 0x00});
    put({0xb2});
    put64(address);
    put({0x52}); // two bytes of events
    put64(events, 2);
    put({0x01});
  }
  std::vector<unsigned char> aux = std::vector<unsigned char>(kAux);
  perf_event_mmap_page page = {};
  SpeRing ring{&page, aux.data(), kAux};
  SpeRecord r = {};
};

} // namespace

TEST_F(SpeRingTest, ALoadWithItsAddress) {
  EXPECT_FALSE(ring.next(r));
  put_load(0x401234, 0x5a00ffff12345678, 300, 1u << 3 | 1u << 9 | 1u << 10);
  ASSERT_TRUE(ring.next(r));
  EXPECT_EQ(r.ip, 0x401234u);
  EXPECT_EQ(r.address, 0xffff12345678u);
  EXPECT_EQ(r.cycles, 300u);
  EXPECT_TRUE(r.load && !r.store);
  EXPECT_TRUE(r.missed_first_level && r.missed_last_level && r.remote);
  EXPECT_EQ(r.thread, 0u);
  EXPECT_FALSE(ring.next(r));
  EXPECT_EQ(page.aux_tail, page.aux_head);
}
TEST_F(SpeRingTest, NothingOfOneRecordIsLeftInTheNext) {
  put_load(0x401234, 0x1000, 300, 1u << 9);
  put({0x66, 0x2a, 0, 0, 0}); // a context of the second exception level: thread 42
  put({0x49, 0x01});          // a store
  put({0xb2});
  put64(0x2000);
  put({0x71}); // a time stamp also ends a record
  put64(123456789);
  ASSERT_TRUE(ring.next(r));
  ASSERT_TRUE(ring.next(r));
  EXPECT_EQ(r.address, 0x2000u);
  EXPECT_EQ(r.thread, 42u);
  EXPECT_TRUE(r.store && !r.load);
  EXPECT_EQ(r.ip, 0u);
  EXPECT_FALSE(r.missed_last_level);
}
TEST_F(SpeRingTest, BranchesHaveNoData) {
  put({0x4a, 0x01, 0xb0});
  put64(0x401000);
  put({0x01});
  ASSERT_TRUE(ring.next(r));
  EXPECT_TRUE(!r.load && !r.store);
  EXPECT_EQ(r.address, 0u);
}
TEST_F(SpeRingTest, PaddingAlignmentAndLongHeadersArePassed) {
  put({0x00, 0x00, 0x00});
  put({0x20, 0xb2}); // an address with a long header: index 2
  put64(0x3000);
  put({0x23, 0x00}); // up to the next 16 bytes
  while (page.aux_head % 16)
    put({0xff});
  put({0x43, 0x07}); // the data source, which is ignored
  put({0x01});
  ASSERT_TRUE(ring.next(r));
  EXPECT_EQ(r.address, 0x3000u);
  EXPECT_EQ(ring.malformed(), 0u);
}
TEST_F(SpeRingTest, RecordsComeInPiecesAndAroundTheEnd) {
  unsigned read = 0;
  for (unsigned i = 1; i <= 100; i++) {
    const uint64_t begin = page.aux_head;
    put_load(i, 0x10000 * i, i, 0);
    const uint64_t end = page.aux_head;
    for (page.aux_head = begin; page.aux_head < end; page.aux_head++)
      ASSERT_FALSE(ring.next(r)) << i; // not complete yet
    ASSERT_TRUE(ring.next(r)) << i;
    EXPECT_EQ(r.address, 0x10000u * i);
    EXPECT_EQ(r.cycles, i);
    read++;
  }
  EXPECT_EQ(read, 100u);
}
TEST_F(SpeRingTest, WhatMakesNoSenseCostsItsRecord) {
  put({0xb2});
  put64(0x4000);
  put({0xff, 0xfe, 0x01}); // packets that do not exist
  put_load(1, 0x5000, 1, 0);
  ASSERT_TRUE(ring.next(r));
  EXPECT_EQ(r.address, 0x5000u);
  EXPECT_EQ(ring.malformed(), 1u);
  // More than the ring holds: the kernel has overwritten unread records.
  page.aux_head = page.aux_tail + kAux + 1;
  EXPECT_FALSE(ring.next(r));
  EXPECT_EQ(page.aux_tail, page.aux_head);
}
TEST_F(SpeRingTest, AnyBytesComeToAnEnd) {
  std::mt19937 random(5);
  for (unsigned round = 0; round < 2000; round++) {
    for (unsigned i = 0; i < kAux / 2; i++)
      put({static_cast<unsigned>(random() & 0xff)});
    for (unsigned records = 0; ring.next(r); records++)
      ASSERT_LE(records, kAux);
    page.aux_tail = page.aux_head; // a packet may wait for bytes that never come
  }
}

} // namespace smalloc::numa
