// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "smalloc/process/bare_thread.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <gtest/gtest.h>
#include <new>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" char __libc_single_threaded;

namespace smalloc {
namespace {

constexpr long kLong = 10000000000; // ns

bool starts(void (*body)()) { return start_bare_thread(body) == ThreadStart::kStarted; }

class BareThreadTest : public testing::Test {
protected:
  void SetUp() override {
    new (&g_body) Body{};
    if (!starts([] {}))
      GTEST_SKIP() << "no bare threads in this build (sanitizer, static, or another processor)";
    ASSERT_TRUE(wait_for_bare_thread(kLong));
  }
  struct Body {
    std::atomic<pid_t> tid;
    std::atomic<int> errno_before, number, cpu;
    std::atomic<bool> goes_on;
    char text[32];
  };
  static Body g_body;
};
BareThreadTest::Body BareThreadTest::g_body;

thread_local int t_initialised = 42;
thread_local int t_zero;

TEST_F(BareThreadTest, TheCLibraryStillSeesOneThread) {
  const char before = __libc_single_threaded;
  ASSERT_TRUE(starts([] { g_body.tid = static_cast<pid_t>(syscall(SYS_gettid)); }));
  ASSERT_TRUE(wait_for_bare_thread(kLong));
  EXPECT_NE(g_body.tid, 0);
  EXPECT_NE(g_body.tid, getpid());
  EXPECT_EQ(__libc_single_threaded, before);
}

TEST_F(BareThreadTest, HasThreadLocalDataOfItsOwn) {
  errno = EDOM;
  t_initialised = 7;
  t_zero = 5;
  ASSERT_TRUE(starts([] {
    g_body.errno_before = errno;
    g_body.number = t_initialised * 100 + t_zero;
    close(-1); // sets errno
    t_initialised = t_zero = 1;
  }));
  ASSERT_TRUE(wait_for_bare_thread(kLong));
  EXPECT_EQ(g_body.errno_before, 0);
  EXPECT_EQ(g_body.number, 4200);
  EXPECT_EQ(errno, EDOM);
  EXPECT_EQ(t_initialised, 7);
  EXPECT_EQ(t_zero, 5);
}

// The C library's locale is found through thread-local data with initial contents.
TEST_F(BareThreadTest, FormatsAndReadsNumbers) {
  ASSERT_TRUE(starts([] {
    snprintf(g_body.text, sizeof g_body.text, "%.2f", strtod("1.25", nullptr));
    g_body.number = isdigit('7') ? atoi("12") : 0;
  }));
  ASSERT_TRUE(wait_for_bare_thread(kLong));
  EXPECT_STREQ(g_body.text, "1.25");
  EXPECT_EQ(g_body.number, 12);
}

// Its next run finds what libsmalloc and jemalloc have left there: their lists lead to it.
TEST_F(BareThreadTest, KeepsItsThreadLocalData) {
  ASSERT_TRUE(starts([] { t_zero = 11; }));
  ASSERT_TRUE(wait_for_bare_thread(kLong));
  ASSERT_TRUE(starts([] { g_body.number = t_zero; }));
  ASSERT_TRUE(wait_for_bare_thread(kLong));
  EXPECT_EQ(g_body.number, 11);
}

TEST_F(BareThreadTest, KnowsItself) {
  ASSERT_TRUE(starts([] { g_body.number = is_bare_thread(); }));
  ASSERT_TRUE(wait_for_bare_thread(kLong));
  EXPECT_EQ(g_body.number, 1);
  EXPECT_FALSE(is_bare_thread());
}

// The executable's thread-local data lies before the C library's: more than 64 KiB away.
thread_local char t_large[300000];
TEST_F(BareThreadTest, HasAllThreadLocalData) {
  t_large[0] = 1;
  ASSERT_TRUE(starts([] {
    g_body.number = t_large[0];
    for (char &c : t_large)
      c = 3;
    errno = EDOM;
    g_body.errno_before = errno;
  }));
  ASSERT_TRUE(wait_for_bare_thread(kLong));
  EXPECT_EQ(g_body.number, 0);
  EXPECT_EQ(g_body.errno_before, EDOM);
  EXPECT_EQ(t_large[0], 1);
}

// The kernel keeps the processor only in the records of threads that have registered theirs.
TEST_F(BareThreadTest, AsksTheKernelForItsProcessor) {
  ASSERT_TRUE(starts([] {
    cpu_set_t all, last;
    CPU_ZERO(&last);
    sched_getaffinity(0, sizeof all, &all);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
      if (CPU_ISSET(cpu, &all))
        g_body.number = cpu;
    CPU_SET(static_cast<size_t>(g_body.number), &last);
    sched_setaffinity(0, sizeof last, &last);
    g_body.cpu = sched_getcpu();
  }));
  ASSERT_TRUE(wait_for_bare_thread(kLong));
  if (g_body.number == 0)
    GTEST_SKIP() << "one processor";
  EXPECT_EQ(g_body.cpu, g_body.number);
}

TEST_F(BareThreadTest, OneRunsAtATime) {
  const auto waits = [] {
    g_body.tid = static_cast<pid_t>(syscall(SYS_gettid));
    g_body.goes_on = true;
    while (g_body.goes_on)
      usleep(100);
  };
  ASSERT_TRUE(starts(waits));
  while (!g_body.goes_on)
    usleep(100);
  EXPECT_FALSE(bare_thread_has_ended());
  EXPECT_FALSE(wait_for_bare_thread(1000));
  const pid_t first = g_body.tid;
  EXPECT_EQ(start_bare_thread(waits), ThreadStart::kBusy);
  EXPECT_EQ(g_body.tid, first);
  g_body.goes_on = false;
  EXPECT_TRUE(wait_for_bare_thread(kLong));
  EXPECT_TRUE(bare_thread_has_ended());
}

TEST_F(BareThreadTest, AChildStartsOneOfItsOwn) {
  ASSERT_TRUE(starts([] {
    t_initialised = 1;
    g_body.goes_on = true;
    while (g_body.goes_on)
      usleep(100);
  }));
  while (!g_body.goes_on)
    usleep(100);
  const pid_t child = fork();
  if (child == 0) {
    if (!bare_thread_has_ended()) // it exists in the parent only
      _exit(1);
    forget_bare_thread();
    g_body.number = 0;
    if (!starts([] { g_body.number = t_initialised; }) || !wait_for_bare_thread(kLong))
      _exit(2);
    _exit(g_body.number == 42 ? 0 : 3);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(bare_thread_has_ended());
  g_body.goes_on = false;
  EXPECT_TRUE(wait_for_bare_thread(kLong));
}

} // namespace
} // namespace smalloc
