// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// object_table_test.cpp tests the table of objects' notes, also against a model and under a
// concurrent reader.
#include "smalloc/big/object_table.h"

#include <atomic>
#include <gtest/gtest.h>
#include <random>
#include <stdlib.h>
#include <string.h>
#include <thread>
#include <unordered_map>
#include <vector>

namespace smalloc {
namespace {

size_t g_memory_left;
std::vector<void *> g_memory; // the table releases none of it
void *source(size_t bytes) {
  if (bytes > g_memory_left)
    return nullptr;
  g_memory_left -= bytes;
  size_t whole = (bytes + 4095) & ~size_t{4095};
  g_memory.push_back(aligned_alloc(4096, whole));
  return memset(g_memory.back(), 0, whole);
}

class ObjectTableTest : public ::testing::Test {
protected:
  void SetUp() override { g_memory_left = size_t{64} << 20; }
  void TearDown() override {
    for (void *p : g_memory)
      free(p);
    g_memory.clear();
  }
  bool init(size_t first, size_t most) { return table.init({source, first, most}); }
  ObjectTable table;
};

TEST_F(ObjectTableTest, TellsWhatWasInserted) {
  ASSERT_TRUE(init(16, 16));
  ASSERT_TRUE(table.insert(0x1000, {100, 7, false}));
  ObjectNote note;
  ASSERT_TRUE(table.find(0x1000, note));
  EXPECT_EQ(note.weight, 100u);
  EXPECT_EQ(note.account, 7u);
  EXPECT_FALSE(table.find(0x1010, note));
}

TEST_F(ObjectTableTest, ASecondRemovalIsToldApartFromAnUnknownAddress) {
  ASSERT_TRUE(init(16, 16));
  table.insert(0x1000, {100, 7, false});
  ObjectNote note;
  EXPECT_TRUE(table.remove(0x1000, note));
  EXPECT_FALSE(table.remove(0x1000, note));
  EXPECT_TRUE(note.freed);
  EXPECT_EQ(note.account, 7u);
  EXPECT_FALSE(table.remove(0x2000, note));
  EXPECT_FALSE(note.freed);
}

TEST_F(ObjectTableTest, AnAddressThatIsUsedAgainIsLiveAgain) {
  ASSERT_TRUE(init(16, 16));
  ObjectNote note;
  table.insert(0x1000, {100, 7, false});
  table.remove(0x1000, note);
  table.insert(0x1000, {50, 8, false});
  EXPECT_TRUE(table.remove(0x1000, note));
  EXPECT_EQ(note.account, 8u);
  EXPECT_EQ(table.live(), 0u);
}

TEST_F(ObjectTableTest, SaysWhenItIsFullOfLiveObjects) {
  ASSERT_TRUE(init(16, 16));
  size_t n = 0;
  while (n < 16 && table.insert((n + 1) * 16, {1, 0, false}))
    n++;
  EXPECT_EQ(n, 12u);
  ObjectNote note;
  for (size_t i = 0; i < n; i++)
    EXPECT_TRUE(table.find((i + 1) * 16, note));
}

TEST_F(ObjectTableTest, GrowsUpToItsLimitAndSurvivesRefusedMemory) {
  ASSERT_TRUE(init(16, 1024));
  for (uintptr_t a = 1; a <= 700; a++)
    ASSERT_TRUE(table.insert(a * 16, {1, 0, false}));
  EXPECT_EQ(table.slots(), 1024u);
  ObjectTable poor;
  g_memory_left = 16 * 40;
  ASSERT_TRUE(poor.init({source, 16, 1024}));
  size_t n = 0;
  while (n < 100 && poor.insert((n + 1) * 16, {1, 0, false}))
    n++;
  EXPECT_EQ(n, 12u);
}

TEST_F(ObjectTableTest, MakesRoomWithoutMoreMemory) {
  ASSERT_TRUE(init(16, 16));
  g_memory_left = 0; // it has had the memory for a rebuild from the start
  for (uintptr_t a = 1; a <= 100; a++) {
    ASSERT_TRUE(table.insert(a << 12, {1, 0, false})) << a;
    ObjectNote note;
    ASSERT_TRUE(table.remove(a << 12, note));
  }
}

TEST_F(ObjectTableTest, RandomOperationsAgreeWithAMap) {
  ASSERT_TRUE(init(64, 4096));
  std::mt19937 random(1);
  std::unordered_map<uintptr_t, uint32_t> oracle;
  for (int i = 0; i < 200000; i++) {
    uintptr_t address = (random() % 3000 + 1) * 16;
    ObjectNote note;
    if (random() % 2) {
      uint32_t weight = random() % 1000 + 1;
      ASSERT_TRUE(table.insert(address, {weight, 1, false}));
      oracle[address] = weight;
    } else {
      bool there = oracle.count(address) != 0;
      ASSERT_EQ(table.remove(address, note), there);
      if (there) {
        ASSERT_EQ(note.weight, oracle[address]);
        oracle.erase(address);
      }
    }
    ASSERT_EQ(table.live(), oracle.size());
  }
}

TEST_F(ObjectTableTest, ReworkForgetsWhatWeighsNothing) {
  ASSERT_TRUE(init(64, 64));
  for (uint32_t i = 1; i <= 10; i++)
    table.insert(i * 16, {i, 0, false});
  EXPECT_EQ(table.rework([](const ObjectNote &n, void *) { return n.weight / 6; }, nullptr), 5u);
  ObjectNote note;
  EXPECT_FALSE(table.remove(16, note));
  EXPECT_TRUE(table.remove(160, note));
  EXPECT_EQ(note.weight, 1u);
}

TEST_F(ObjectTableTest, LookupsGoOnWhileItIsRebuilt) {
  ASSERT_TRUE(init(256, 1 << 16));
  table.insert(0x10, {5, 3, false}); // stays
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    ObjectNote note;
    while (!stop) {
      ASSERT_TRUE(table.find(0x10, note));
      ASSERT_EQ(note.weight, 5u);
      ASSERT_FALSE(table.find(0x18, note));
    }
  });
  ObjectNote note;
  for (int round = 0; round < 20; round++) {
    for (uintptr_t a = 2; a < 2000; a++)
      table.insert(a * 32, {1, 0, false});
    for (uintptr_t a = 2; a < 2000; a++)
      table.remove(a * 32, note);
  }
  stop = true;
  reader.join();
}

} // namespace
} // namespace smalloc
