// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The heap of the program's malloc, as the kernel tells it.
#include "smalloc/os/program_heap.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <string>
#include <unistd.h>

namespace smalloc {
namespace {
std::string g_stat; // what the file says
OsHooks scripted() {
  OsHooks os = kLinux;
  os.read_file = [](const char *, char *text, size_t capacity) -> long {
    if (g_stat.empty())
      return -1;
    strncpy(text, g_stat.c_str(), capacity - 1);
    text[capacity - 1] = 0;
    return static_cast<long>(strlen(text));
  };
  return os;
}

TEST(ProgramHeap, IsWhatTheMapsCallHeap) {
  if (sbrk(4096) == reinterpret_cast<void *>(-1)) // sanitizers' allocators do without
    GTEST_SKIP() << "no break";
  ProgramHeap heap;
  ASSERT_TRUE(program_heap(kLinux, heap));
  EXPECT_EQ(heap.end, sbrk(0));
  std::ifstream maps("/proc/self/maps");
  std::string line, found;
  while (std::getline(maps, line))
    if (line.find("[heap]") != std::string::npos)
      found = line;
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(heap.start), std::stoull(found, nullptr, 16));
}
TEST(ProgramHeap, NamesMayHoldAnything) {
  ProgramHeap real, heap;
  if (sbrk(4096) == reinterpret_cast<void *>(-1) || !program_heap(kLinux, real))
    GTEST_SKIP() << "no break";
  std::string fields;
  for (int i = 3; i < 47; i++)
    fields += " " + std::to_string(i);
  g_stat = "7 (a) 1 2 (b c)" + fields + " " +
           std::to_string(reinterpret_cast<uintptr_t>(real.start)) + " 48 49\n";
  ASSERT_TRUE(program_heap(scripted(), heap));
  EXPECT_EQ(heap.start, real.start);
}
TEST(ProgramHeap, NothingIsToldOrLessThanThat) {
  ProgramHeap heap;
  for (const char *text : {"", "7", "7 (a)", "7 (a) R 1 2 3", "7 (a) R 1 2 3 "}) {
    g_stat = text;
    EXPECT_FALSE(program_heap(scripted(), heap)) << text;
  }
  g_stat = "7 (a)";
  for (int i = 3; i < 47; i++)
    g_stat += " 1";
  EXPECT_FALSE(program_heap(scripted(), heap));
  g_stat += " 0 48"; // the kernel hides it from those who may not know
  EXPECT_FALSE(program_heap(scripted(), heap));
}
} // namespace
} // namespace smalloc
