// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests of the gate through which a forked child gets its copy of pool memory.
#include "smalloc/os/hugetlb.h"

#include <cstring>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace smalloc {
namespace {
constexpr size_t kBytes = size_t{6} << 20;

char *some_memory() {
  void *p = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return p == MAP_FAILED ? nullptr : static_cast<char *>(p);
}
int status_of(pid_t child) {
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

TEST(ForkGate, ChildGetsTheBytesNotThePages) {
  char *p = some_memory();
  ASSERT_NE(p, nullptr);
  memset(p, 5, kBytes);
  p[kBytes - 1] = 6;
  ForkGate gate;
  ASSERT_TRUE(gate.prepare());
  pid_t child = fork();
  if (child == 0) {
    gate.enter_child();
    bool got = gate.receive(p, kBytes);
    gate.close_both();
    // The parent wrote p[0] after the fork, before it sent the bytes.
    bool sent = p[0] == 7 && p[kBytes / 2] == 5 && p[kBytes - 1] == 6;
    p[1] = 9;
    _exit(got && sent ? 0 : 1);
  }
  gate.enter_parent();
  p[0] = 7;
  EXPECT_TRUE(gate.send(p, kBytes));
  gate.close_both();
  EXPECT_EQ(status_of(child), 0);
  EXPECT_EQ(p[1], 5);
  munmap(p, kBytes);
}
/// Checks that code which maps memory in the child before the gate keeps that memory: a fork
/// handler of another library, or the thread that ThreadSanitizer starts in every child.
TEST(ForkGate, MemoryMappedInTheChildBeforeStaysItsOwn) {
  char *p = some_memory();
  ASSERT_NE(p, nullptr);
  memset(p, 5, kBytes);
  ForkGate gate;
  ASSERT_TRUE(gate.prepare());
  pid_t child = fork();
  if (child == 0) {
    constexpr size_t kOthers = 64, kOtherBytes = size_t{256} << 10;
    char *other[kOthers];
    for (char *&o : other) {
      o = static_cast<char *>(
          mmap(nullptr, kOtherBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
      if (o == MAP_FAILED)
        _exit(2);
      memset(o, 8, kOtherBytes);
    }
    gate.enter_child();
    bool ok = gate.receive(p, kBytes);
    gate.close_both();
    for (char *o : other)
      ok = ok && o[0] == 8 && o[kOtherBytes - 1] == 8;
    _exit(ok && p[0] == 5 && p[kBytes - 1] == 5 ? 0 : 1);
  }
  gate.enter_parent();
  EXPECT_TRUE(gate.send(p, kBytes));
  gate.close_both();
  EXPECT_EQ(status_of(child), 0);
  munmap(p, kBytes);
}
TEST(ForkGate, DeadChildIsNeitherASignalNorAWait) {
  char *p = some_memory();
  ASSERT_NE(p, nullptr);
  ForkGate gate;
  ASSERT_TRUE(gate.prepare());
  pid_t child = fork();
  if (child == 0)
    _exit(3);
  gate.enter_parent();
  EXPECT_TRUE(WIFEXITED(status_of(child)));
  EXPECT_FALSE(gate.send(p, kBytes));
  gate.close_both();
  munmap(p, kBytes);
}
TEST(ForkGate, DeadParentIsSeen) {
  char *p = some_memory();
  ASSERT_NE(p, nullptr);
  ForkGate gate;
  ASSERT_TRUE(gate.prepare());
  pid_t child = fork();
  if (child == 0) {
    gate.enter_child();
    _exit(gate.receive(p, kBytes) ? 1 : 0);
  }
  gate.enter_parent();
  EXPECT_TRUE(gate.send(p, 4096));
  gate.close_both();
  EXPECT_EQ(status_of(child), 0);
  munmap(p, kBytes);
}
} // namespace
} // namespace smalloc
