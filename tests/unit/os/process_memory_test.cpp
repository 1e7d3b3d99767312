// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests of the process' memory, from invented texts of the kernel and from the real kernel.
#include "smalloc/base/units.h"
#include "smalloc/process/process_memory.h"

#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <sys/mman.h>

namespace smalloc {
namespace {
std::string g_statm; ///< empty: the file cannot be read

ProcessMemory memory_by(const std::string &statm) {
  g_statm = statm;
  OsHooks os = kLinux;
  os.read_file = [](const char *path, char *buffer, size_t capacity) -> long {
    EXPECT_STREQ(path, "/proc/self/statm");
    if (g_statm.empty())
      return -1;
    const size_t n = std::min(g_statm.size(), capacity - 1);
    memcpy(buffer, g_statm.data(), n);
    buffer[n] = 0;
    return static_cast<long>(n);
  };
  return process_memory(os);
}

TEST(ProcessMemoryTest, AnonymousIsWhatIsResidentAndNotShared) {
  const ProcessMemory m = memory_by("100000 3000 1200 5 0 2500 0\n");
  EXPECT_EQ(m.resident_bytes, 3000 * kBasePageBytes);
  EXPECT_EQ(m.anonymous_bytes, 1800 * kBasePageBytes);
}

TEST(ProcessMemoryTest, CountsThatAreTakenAtDifferentTimesAreNeverNegative) {
  const ProcessMemory m = memory_by("100000 1200 1201 5 0 2500 0\n");
  EXPECT_EQ(m.resident_bytes, 1200 * kBasePageBytes);
  EXPECT_EQ(m.anonymous_bytes, 0u);
}

TEST(ProcessMemoryTest, WhatTheKernelDoesNotTellIsZero) {
  for (const char *text : {"", "\n", "nonsense"}) {
    const ProcessMemory m = memory_by(text);
    EXPECT_EQ(m.resident_bytes, 0u) << text;
    EXPECT_EQ(m.anonymous_bytes, 0u) << text;
  }
}

TEST(ProcessMemoryTest, TheKernelCountsWhatIsWritten) {
  constexpr size_t kBytes = 64 << 20, kRoughly = 4 << 20; // the kernel adds up only from time to
                                                          // time
  void *p = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(p, MAP_FAILED);
  const ProcessMemory before = process_memory(kLinux);
  memset(p, 1, kBytes);
  const ProcessMemory after = process_memory(kLinux);
  EXPECT_GT(before.anonymous_bytes, 0u);
  EXPECT_GE(after.anonymous_bytes, before.anonymous_bytes + kBytes - kRoughly);
#if !defined(__SANITIZE_THREAD__) // TSan's shadow memory is anonymous too: four bytes for each byte
  EXPECT_LE(after.anonymous_bytes, before.anonymous_bytes + kBytes + kRoughly);
#endif
  EXPECT_GE(after.resident_bytes, before.resident_bytes + kBytes - kRoughly);
  munmap(p, kBytes);
}

} // namespace
} // namespace smalloc
