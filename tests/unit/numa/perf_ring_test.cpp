// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests rings as the kernel writes them: samples of each kind of source, records across the end of
// the buffer, lost ones, and records that no kernel should write.
#include "runtime/numa/live/perf_ring.h"
#include "tests/unit/numa/fake_ring.h"

#include <gtest/gtest.h>

namespace smalloc::numa {

TEST(PerfRing, EmptyRingHasNothing) {
  FakeRing ring(4096);
  PerfRing reader = ring.reader(PERF_SAMPLE_IP);
  PerfSample s;
  EXPECT_FALSE(reader.next(s));
  EXPECT_FALSE(PerfRing().next(s));
}
TEST(PerfRing, DecodesAnAddressSample) { // PEBS, IBS
  constexpr uint64_t kType = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                             PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU | PERF_SAMPLE_DATA_SRC;
  ASSERT_TRUE(PerfRing::can_decode(kType));
  FakeRing ring(4096);
  ring.record(PERF_RECORD_SAMPLE,
              {0x401000, 7 | uint64_t{9} << 32, 123456, 0x7f0012345678, 3, 0x68});
  PerfRing reader = ring.reader(kType);
  PerfSample s;
  ASSERT_TRUE(reader.next(s));
  EXPECT_EQ(s.ip, 0x401000u);
  EXPECT_EQ(s.process, 7u);
  EXPECT_EQ(s.thread, 9u);
  EXPECT_EQ(s.address, 0x7f0012345678u);
  EXPECT_EQ(s.cpu, 3u);
  EXPECT_EQ(s.data_source, 0x68u);
  EXPECT_FALSE(s.has_registers);
  EXPECT_FALSE(reader.next(s));
  EXPECT_EQ(ring.tail(), ring.head());
}
TEST(PerfRing, DecodesRegistersAndTheirAbsence) { // the clock
  constexpr uint64_t kType =
      PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_CPU | PERF_SAMPLE_REGS_USER;
  FakeRing ring(4096);
  std::vector<uint64_t> with = {1, 2, 3, PERF_SAMPLE_REGS_ABI_64};
  for (uint64_t r = 0; r < kPerfRegisters; r++)
    with.push_back(100 + r);
  ring.record(PERF_RECORD_SAMPLE, with);
  ring.record(PERF_RECORD_SAMPLE, {4, 5, 6, PERF_SAMPLE_REGS_ABI_NONE});
  PerfRing reader = ring.reader(kType);
  PerfSample s;
  ASSERT_TRUE(reader.next(s));
  EXPECT_TRUE(s.has_registers);
  EXPECT_EQ(s.registers[0], 100u);
  EXPECT_EQ(s.registers[15], 115u);
  ASSERT_TRUE(reader.next(s));
  EXPECT_EQ(s.ip, 4u);
  EXPECT_FALSE(s.has_registers);
}
TEST(PerfRing, PassesOverWhatIsNoSampleAndCountsLostOnes) {
  FakeRing ring(4096);
  ring.record(PERF_RECORD_THROTTLE, {1, 2, 3});
  ring.record(PERF_RECORD_LOST, {77, 12});
  ring.record(999, std::vector<uint64_t>(100)); // from a later kernel, longer than any known record
  ring.record(PERF_RECORD_SAMPLE, {42});
  PerfRing reader = ring.reader(PERF_SAMPLE_IP);
  PerfSample s;
  ASSERT_TRUE(reader.next(s));
  EXPECT_EQ(s.ip, 42u);
  EXPECT_EQ(reader.lost(), 12u);
  EXPECT_EQ(reader.malformed(), 0u);
}
TEST(PerfRing, RecordsGoRoundTheEnd) {
  FakeRing ring(4096);
  PerfRing reader = ring.reader(PERF_SAMPLE_IP | PERF_SAMPLE_ADDR);
  PerfSample s;
  for (uint64_t i = 0; i < 1000; i++) { // 24 bytes each: every alignment at the end
    ring.record(PERF_RECORD_SAMPLE, {i, i * 3});
    ASSERT_TRUE(reader.next(s));
    ASSERT_EQ(s.ip, i);
    ASSERT_EQ(s.address, i * 3);
  }
  EXPECT_FALSE(reader.next(s));
}
TEST(PerfRing, BadLengthsEndTheReadingOnly) {
  for (uint16_t size : {uint16_t{0}, uint16_t{4}, uint16_t{9}, uint16_t{4000}}) {
    FakeRing ring(4096);
    ring.raw_header(PERF_RECORD_SAMPLE, size);
    PerfRing reader = ring.reader(PERF_SAMPLE_IP);
    PerfSample s;
    EXPECT_FALSE(reader.next(s)) << size;
    EXPECT_EQ(reader.malformed(), 1u) << size;
    ring.record(PERF_RECORD_SAMPLE, {5}); // later records are read
    ASSERT_TRUE(reader.next(s));
    EXPECT_EQ(s.ip, 5u);
  }
}
TEST(PerfRing, ASampleThatIsTooShortIsNone) {
  FakeRing ring(4096);
  ring.record(PERF_RECORD_SAMPLE, {5});
  PerfRing reader = ring.reader(PERF_SAMPLE_IP | PERF_SAMPLE_ADDR);
  PerfSample s;
  EXPECT_FALSE(reader.next(s));
  EXPECT_EQ(reader.malformed(), 1u);
}
TEST(PerfRing, KnowsWhatItCannotDecode) {
  EXPECT_FALSE(PerfRing::can_decode(PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN));
  EXPECT_FALSE(PerfRing::can_decode(PERF_SAMPLE_RAW));
}

} // namespace smalloc::numa
