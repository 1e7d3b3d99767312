// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests of the hook table with the real kernel: the effect of each call, and that errno is kept.
#include "smalloc/base/units.h"
#include "smalloc/os/os_hooks.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

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
  for (const bool with_idle_page : {false, true}) {
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
    constexpr size_t kIdle = 5 * kBasePageBytes;
    errno = 5;
    ASSERT_EQ(kLinux.split(p, with_idle_page ? p + kIdle : nullptr), 0);
    EXPECT_EQ(errno, 5);
    EXPECT_EQ(superpage_kb().first, before.first - 2048) << with_idle_page;
    EXPECT_EQ(superpage_kb().second, before.second); // the two mappings are one again
    for (size_t i = 0; i < kSuperpageBytes; i++) {
      if (with_idle_page && i / kBasePageBytes == kIdle / kBasePageBytes)
        ASSERT_TRUE(p[i] == 3 || p[i] == 0) << i; // the kernel may have dropped it
      else
        ASSERT_EQ(p[i], 3) << i;
    }
    munmap(p, 64 << 20);
  }
}
/// Returns what mincore() counts: pages that are mapped, including the shared zero page.
size_t pages_in_core(const char *start) {
  std::vector<unsigned char> present(kPagesPerUnit);
  EXPECT_EQ(mincore(const_cast<char *>(start), kSuperpageBytes, present.data()), 0);
  return static_cast<size_t>(
      std::count_if(present.begin(), present.end(), [](unsigned char c) { return c & 1; }));
}
TEST(LinuxPages, TheSharedZeroPageIsNotResident) {
  constexpr size_t kBytes = 2 * kSuperpageBytes; // one of the units stays untouched
  auto *p = static_cast<char *>(kLinux.reserve(kBytes));
  ASSERT_NE(p, nullptr);
  ASSERT_EQ(kLinux.commit(p, kBytes), 0);
  ASSERT_EQ(kLinux.advise(p, kBytes, Advice::kNoSuperpages), 0); // a write makes one page resident
  EXPECT_EQ(kLinux.resident_pages(p, kBytes), 0u);
  for (size_t i = 0; i < kSuperpageBytes; i += kBasePageBytes)
    EXPECT_EQ(*const_cast<volatile char *>(p + i), 0);
  ASSERT_EQ(pages_in_core(p), kPagesPerUnit); // the zero page, everywhere
  errno = 5;
  EXPECT_EQ(kLinux.resident_pages(p, kSuperpageBytes), 0u);
  memset(p, 1, kSuperpageBytes / 2);
  EXPECT_EQ(kLinux.resident_pages(p, kSuperpageBytes), kPagesPerUnit / 2);
  EXPECT_EQ(kLinux.resident_pages(p, kSuperpageBytes / 2), kPagesPerUnit / 2);
  EXPECT_EQ(kLinux.resident_pages(p + kSuperpageBytes / 2, kSuperpageBytes / 2), 0u);
  EXPECT_EQ(kLinux.resident_pages(p, kBytes), kPagesPerUnit / 2);
  EXPECT_EQ(errno, 5);
  // Every other page: more runs of pages than one call to the kernel returns.
  ASSERT_EQ(kLinux.purge(p, kSuperpageBytes), 0);
  for (size_t i = 0; i < kSuperpageBytes; i += kBasePageBytes) {
    if (i / kBasePageBytes % 2)
      p[i] = 1;
    else
      EXPECT_EQ(*const_cast<volatile char *>(p + i), 0);
  }
  ASSERT_EQ(pages_in_core(p), kPagesPerUnit);
  EXPECT_EQ(kLinux.resident_pages(p, kSuperpageBytes), kPagesPerUnit / 2);
  munmap(p, kBytes);
}
// Without PAGEMAP_SCAN, as before Linux 6.7, the entries of pagemap give the same result.
TEST(LinuxPages, TheSharedZeroPageIsNotResidentWithoutPagemapScan) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto *p = static_cast<char *>(kLinux.reserve(kSuperpageBytes));
    if (!p || kLinux.commit(p, kSuperpageBytes) != 0 ||
        kLinux.advise(p, kSuperpageBytes, Advice::kNoSuperpages) != 0)
      _exit(2);
    sock_filter refuse_ioctl[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), // the number of the call
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOTTY),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program = {4, refuse_ioctl};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
      _exit(3);
    for (size_t i = 0; i < kSuperpageBytes; i += kBasePageBytes)
      (void)*const_cast<volatile char *>(p + i);
    if (kLinux.resident_pages(p, kSuperpageBytes) != 0)
      _exit(4);
    for (size_t i = 0; i < kSuperpageBytes; i += 2 * kBasePageBytes)
      p[i] = 1;
    _exit(kLinux.resident_pages(p, kSuperpageBytes) == kPagesPerUnit / 2 ? 0 : 5);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 3)
    GTEST_SKIP() << "system calls cannot be refused here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
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
  ASSERT_EQ(mprotect(p + kHalf, kHalf, PROT_READ), 0); // two mappings, whatever the kernel merges
  ASSERT_EQ(kLinux.move(p, target, kSuperpageBytes), 0);
  EXPECT_EQ(target[0], 1);
  EXPECT_EQ(target[kHalf - 1], 1);
  EXPECT_EQ(target[kHalf], 1);
  EXPECT_EQ(target[kSuperpageBytes - 1], 1);
  EXPECT_EQ(p[0], 0);
  // The second half does not exist: the first half is moved back.
  munmap(target + kHalf, kHalf);
  EXPECT_EQ(kLinux.move(target, again, kSuperpageBytes), EFAULT);
  EXPECT_EQ(target[0], 1);
  EXPECT_EQ(target[kHalf - 1], 1);
  munmap(p, 8 * kSuperpageBytes);
}

// At the limit of locked memory the kernel refuses a new mapping in this place; the contents must
// go anyway.
TEST(LinuxPages, DecommitOfLockedMemoryAtTheLimitEmptiesIt) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    constexpr size_t kBytes = 2 * kSuperpageBytes; // of the 8 MiB that each user may lock
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
      _exit(3); // the kernel allowed it
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
