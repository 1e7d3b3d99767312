// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// runner_test.cpp tests that the footprint of a tree of processes has all its processes.
#include "runtime/study/runner.h"

#include <csignal>
#include <thread>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace smalloc::study {
namespace {

TEST(SampleTree, HasTheChildrenOfEachThread) {
  constexpr size_t kBytes = size_t{64} << 20;
  if (access("/proc/thread-self/children", R_OK) != 0)
    GTEST_SKIP() << "the kernel lists no children";
  const uint64_t before = sample_tree(getpid()).total().total();
  int ready[2], go_on[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(go_on), 0);
  std::thread parent([&] { // the kernel lists a child with the thread that forked
    const pid_t child = fork();
    if (child == 0) {
      close(go_on[1]);
      void *p = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
      char c = p != MAP_FAILED;
      _exit(write(ready[1], &c, 1) == 1 && read(go_on[0], &c, 1) == 0 ? 0 : 1);
    }
    char c = 0;
    EXPECT_EQ(read(ready[0], &c, 1), 1);
    EXPECT_EQ(c, 1);
    EXPECT_GE(sample_tree(getpid()).total().total(), before + kBytes);
    close(go_on[1]);
    EXPECT_EQ(waitpid(child, nullptr, 0), child);
  });
  parent.join();
  for (const int fd : {ready[0], ready[1], go_on[0]})
    close(fd);
}

} // namespace
} // namespace smalloc::study
