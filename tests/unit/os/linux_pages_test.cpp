// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernel behind the hook table: what each call leaves behind, and that errno is kept.
#include "smalloc/base/units.h"
#include "smalloc/os/os_hooks.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace smalloc {
namespace {
TEST(LinuxPages, ReserveCommitPurgeDecommit) {
  constexpr size_t kBytes = 64 << 20;
  errno = 5;
  auto *p = static_cast<char *>(kLinux.reserve(kBytes));
  ASSERT_NE(p, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % kSuperpageBytes, 0u);
  ASSERT_EQ(kLinux.commit(p, 2 * kSuperpageBytes), 0);
  memset(p, 1, 2 * kSuperpageBytes);
  EXPECT_EQ(kLinux.resident_pages(p, 2 * kSuperpageBytes), 2 * kPagesPerUnit);
  EXPECT_EQ(kLinux.purge(p, kBasePageBytes), 0);
  EXPECT_EQ(p[0], 0);
  EXPECT_EQ(p[kBasePageBytes], 1);
  EXPECT_EQ(kLinux.decommit(p, 2 * kSuperpageBytes), 0);
  EXPECT_EQ(kLinux.resident_pages(p, 2 * kSuperpageBytes), 0u);
  EXPECT_DEATH(p[0] = 1, "");
  ASSERT_EQ(kLinux.commit(p, kBasePageBytes), 0);
  EXPECT_EQ(p[0], 0);
  EXPECT_EQ(kLinux.collapse(p + 1, kSuperpageBytes), EINVAL);
  EXPECT_EQ(errno, 5);
  munmap(p, kBytes);
}
TEST(LinuxPages, ReservationThatCannotBe) { EXPECT_EQ(kLinux.reserve(size_t{1} << 60), nullptr); }

TEST(LinuxPages, SplitMapsByBasePagesAndKeepsTheContents) {
  auto *p = static_cast<char *>(kLinux.reserve(64 << 20));
  ASSERT_NE(p, nullptr);
  ASSERT_EQ(kLinux.commit(p, 4 * kSuperpageBytes), 0);
  auto superpage_kb = [&] {
    std::ifstream smaps("/proc/self/smaps");
    size_t sum = 0, kb, from = 0, to = 0;
    unsigned mappings = 0;
    for (std::string line; std::getline(smaps, line);) {
      if (sscanf(line.c_str(), "%zx-%zx ", &from, &to) == 2)
        mappings +=
            from >= reinterpret_cast<size_t>(p) && to <= reinterpret_cast<size_t>(p + (64 << 20));
      else if (from <= reinterpret_cast<size_t>(p) && reinterpret_cast<size_t>(p) < to &&
               sscanf(line.c_str(), "AnonHugePages: %zu", &kb) == 1)
        sum += kb;
    }
    return std::pair(sum, mappings);
  };
  memset(p, 3, 4 * kSuperpageBytes);
  if (kLinux.collapse(p, kSuperpageBytes) != 0 || superpage_kb().first == 0)
    GTEST_SKIP() << "the kernel gives no superpage";
  auto before = superpage_kb();
  ASSERT_EQ(kLinux.split(p), 0);
  EXPECT_EQ(superpage_kb().first, before.first - 2048);
  EXPECT_EQ(superpage_kb().second, before.second); // the two mappings are one again
  for (size_t i = 0; i < kSuperpageBytes; i++)
    ASSERT_EQ(p[i], 3);
  munmap(p, 64 << 20);
}
TEST(LinuxPages, MoveLeavesTheSourceEmpty) {
  auto *p = static_cast<char *>(kLinux.reserve(64 << 20));
  ASSERT_NE(p, nullptr);
  char *to = p + 8 * kSuperpageBytes;
  ASSERT_EQ(kLinux.commit(p, kSuperpageBytes), 0);
  ASSERT_EQ(kLinux.commit(to, kSuperpageBytes), 0);
  memset(p, 7, kSuperpageBytes);
  ASSERT_EQ(kLinux.move(p, to, kSuperpageBytes), 0);
  EXPECT_EQ(to[12345], 7);
  EXPECT_EQ(p[12345], 0);
  munmap(p, 64 << 20);
}
TEST(LinuxPages, WhatLiesInTwoMappingsMovesWhollyOrNotAtAll) {
  constexpr size_t kHalf = kSuperpageBytes / 2;
  auto *p = static_cast<char *>(kLinux.reserve(8 * kSuperpageBytes));
  ASSERT_NE(p, nullptr);
  char *target = p + 2 * kSuperpageBytes, *again = p + 4 * kSuperpageBytes;
  for (char *at : {p, target, again})
    ASSERT_EQ(kLinux.commit(at, kSuperpageBytes), 0);
  memset(p, 1, kSuperpageBytes);
  ASSERT_EQ(mprotect(p + kHalf, kHalf, PROT_READ), 0); // two, whatever the kernel merges
  ASSERT_EQ(kLinux.move(p, target, kSuperpageBytes), 0);
  EXPECT_EQ(target[0], 1);
  EXPECT_EQ(target[kHalf - 1], 1);
  EXPECT_EQ(target[kHalf], 1);
  EXPECT_EQ(target[kSuperpageBytes - 1], 1);
  EXPECT_EQ(p[0], 0);
  // The second half is none: the first comes back.
  munmap(target + kHalf, kHalf);
  EXPECT_EQ(kLinux.move(target, again, kSuperpageBytes), EFAULT);
  EXPECT_EQ(target[0], 1);
  EXPECT_EQ(target[kHalf - 1], 1);
  munmap(p, 8 * kSuperpageBytes);
}

// At the limit of locked memory no mapping can be put in a place: what was there must go all the same.
TEST(LinuxPages, DecommitOfLockedMemoryAtTheLimitEmptiesIt) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    constexpr size_t kBytes = 2 * kSuperpageBytes;             // of 8 MiB that anybody may lock
    if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0) // root has no such limit
      _exit(2);
    rlimit limit;
    getrlimit(RLIMIT_MEMLOCK, &limit);
    limit.rlim_cur = min_of<rlim_t>(limit.rlim_max, kBytes + kBytes / 2);
    if (limit.rlim_cur < kBytes || setrlimit(RLIMIT_MEMLOCK, &limit) != 0)
      _exit(2);
    auto *p = static_cast<char *>(kLinux.reserve(kBytes));
    if (!p || kLinux.commit(p, kBytes) != 0 || mlock(p, kBytes) != 0 || mlockall(MCL_FUTURE) != 0)
      _exit(2);
    memset(p, 1, kBytes);
    if (kLinux.decommit(p, kBytes) == 0)
      _exit(3); // the kernel did not mind
    if (kLinux.commit(p, kBytes) != 0)
      _exit(4);
    _exit(p[0] || p[kBytes - 1]);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 2 || WEXITSTATUS(status) == 3)
    GTEST_SKIP() << "no limit of locked memory to reach";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Thp, ModeIsReadFromTheGivenRoot) {
  std::string root = testing::TempDir() + "smalloc_sys.XXXXXX";
  ASSERT_NE(mkdtemp(root.data()), nullptr);
  std::filesystem::create_directories(root + "/kernel/mm/transparent_hugepage");
  auto mode = [&](const char *text) {
    std::ofstream(root + "/kernel/mm/transparent_hugepage/enabled") << text;
    return thp_mode(kLinux, root.c_str());
  };
  EXPECT_EQ(mode("[always] madvise never\n"), ThpMode::kAlways);
  EXPECT_EQ(mode("always [madvise] never\n"), ThpMode::kMadvise);
  EXPECT_EQ(mode("always madvise [never]\n"), ThpMode::kNever);
  EXPECT_EQ(thp_mode(kLinux, "/nowhere"), ThpMode::kAbsent);
  EXPECT_EQ(thp_mode(kLinux, std::string(400, 'x').c_str()), ThpMode::kAbsent);
  std::filesystem::remove_all(root);
}
TEST(NumberInFile, FallsBack) {
  EXPECT_EQ(number_in_file(kLinux, "/nowhere", 42), 42u);
  EXPECT_GT(number_in_file(kLinux, "/proc/sys/vm/max_map_count", 0), 1000u);
}
} // namespace
} // namespace smalloc
