// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests that the program's threads are found, stopped, continued, and bound only where they may
// run.
#include "runtime/numa/live/threads.h"
#include "tests/unit/numa/fake_machine.h"

#include <atomic>
#include <csignal>
#include <cstring>
#include <sched.h>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

namespace smalloc::numa {

TEST(Threads, AreHeldAndGoOn) {
  std::atomic<bool> end{false}, up{false};
  std::atomic<uint64_t> steps{0};
  std::thread worker([&] {
    up = true;
    while (!end)
      steps++;
  });
  while (!up)
    sched_yield();
  // The stopping thread must not stop itself: the test's thread is the migrator here.
  leave_alone(gettid());
  ASSERT_TRUE(stop_other_threads("/proc"));
  const uint64_t held = steps;
  for (int i = 0; i < 1000; i++)
    sched_yield();
  EXPECT_EQ(steps, held);
  resume_other_threads();
  while (steps == held)
    sched_yield();
  ASSERT_TRUE(stop_other_threads("/proc")); // and again
  resume_other_threads();
  end = true;
  worker.join();
}
// smalloc's two threads start at once. ThreadSanitizer reports what they would lose now and then.
TEST(Threads, MayAskAtOnceToBeLeftAlone) {
  std::thread([] {}).join(); // a sanitizer starts a thread of its own at the first one
  leave_alone(gettid());
  bind_new_threads(fake_topology(1), "/proc");
  std::atomic<int> asked{0};
  std::atomic<bool> end{false};
  std::vector<std::jthread> threads;
  for (int i = 0; i < 2; i++)
    threads.emplace_back([&] {
      leave_alone(gettid());
      asked++;
      while (!end)
        sched_yield();
    });
  while (asked < 2)
    sched_yield();
  EXPECT_EQ(bind_new_threads(fake_topology(1), "/proc"), 0u);
  end = true;
}
TEST(Threads, ASignalThatTheProgramUsesIsLeftToIt) {
  struct sigaction theirs = {}, before;
  theirs.sa_handler = [](int) {};
  sigaction(SIGRTMAX, &theirs, &before);
  EXPECT_FALSE(stop_other_threads("/proc"));
  struct sigaction now;
  sigaction(SIGRTMAX, nullptr, &now);
  EXPECT_EQ(now.sa_handler, theirs.sa_handler);
  sigaction(SIGRTMAX, &before, nullptr);
}
TEST(Threads, AreBoundOnceAndWithinWhatTheyMayUse) {
  cpu_set_t mine;
  ASSERT_EQ(sched_getaffinity(0, sizeof mine, &mine), 0);
  Topology t = fake_topology(2);
  memset(t.node_of_cpu, kNoNode, sizeof t.node_of_cpu);
  unsigned first = 0;
  while (!CPU_ISSET(first, &mine))
    first++;
  t.node_of_cpu[first] = 0; // the other node has no processor that this process may use
  std::atomic<bool> end{false};
  cpu_set_t seen;
  CPU_ZERO(&seen);
  std::atomic<int> tid{0};
  std::thread worker([&] {
    tid = gettid();
    while (!end)
      sched_yield();
    sched_getaffinity(0, sizeof seen, &seen);
  });
  while (!tid)
    sched_yield();
  EXPECT_GE(bind_new_threads(t, "/proc"), 1u);
  EXPECT_EQ(bind_new_threads(t, "/proc"), 0u); // already known
  end = true;
  worker.join();
  EXPECT_EQ(CPU_COUNT(&seen), 1);
  EXPECT_TRUE(CPU_ISSET(first, &seen));
  EXPECT_EQ(bind_new_threads(t, "/nowhere"), 0u);
}

} // namespace smalloc::numa
