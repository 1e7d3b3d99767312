// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests with many writing threads and one reader: each read sample was written, and each written
// one is read or counted as lost.
#include "runtime/numa/live/sample_ring.h"

#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace smalloc::numa {

TEST(SampleRing, KeepsOrderAndContents) {
  auto ring = std::make_unique<SampleRing>();
  uint64_t address;
  uint32_t cpu;
  EXPECT_FALSE(ring->take(address, cpu));
  for (uint64_t i = 0; i < 3 * SampleRing::kSlots; i++) {
    ring->put(0x7f0000000000 + i, static_cast<uint32_t>(i % 1000));
    ASSERT_TRUE(ring->take(address, cpu));
    ASSERT_EQ(address, 0x7f0000000000 + i);
    ASSERT_EQ(cpu, i % 1000);
  }
  EXPECT_EQ(ring->lost(), 0u);
}
TEST(SampleRing, AnOverrunLosesTheOldest) {
  auto ring = std::make_unique<SampleRing>();
  for (uint64_t i = 0; i < SampleRing::kSlots + 100; i++)
    ring->put(i, 0);
  uint64_t address;
  uint32_t cpu;
  ASSERT_TRUE(ring->take(address, cpu));
  EXPECT_EQ(address, 100u);
  EXPECT_EQ(ring->lost(), 100u);
}
TEST(SampleRing, ThreadsDoNotMixTheirSamples) {
  auto ring = std::make_unique<SampleRing>();
  constexpr unsigned kThreads = 3;
  constexpr uint64_t kEach = 100000;
  std::atomic<unsigned> running{kThreads};
  std::vector<std::thread> writers;
  for (uint32_t t = 0; t < kThreads; t++)
    writers.emplace_back([&, t] {
      for (uint64_t i = 0; i < kEach; i++)
        ring->put(i * kThreads + t, t); // the address identifies the thread
      running--;
    });
  uint64_t taken = 0, address;
  uint32_t cpu;
  for (bool last = false; !last;) {
    last = running == 0;
    while (ring->take(address, cpu)) {
      ASSERT_EQ(address % kThreads, cpu);
      taken++;
    }
  }
  for (std::thread &t : writers)
    t.join();
  EXPECT_EQ(taken + ring->lost(), kThreads * kEach);
  EXPECT_GT(taken, 0u);
}

} // namespace smalloc::numa
