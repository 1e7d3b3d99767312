// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "smalloc/process/bare_thread.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <new>
#include <pthread.h>
#include <signal.h>
#include <string>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" char __libc_single_threaded;

namespace smalloc {
namespace {

constexpr long kLong = 10000000000; // ns

class BareThreadTest : public testing::Test {
protected:
  void SetUp() override {
    new (&g_body) Body{};
    if (!start_bare_thread([] {}))
      GTEST_SKIP() << "no bare threads in this build (sanitizer, static, or another processor)";
    ASSERT_TRUE(wait_for_bare_thread(kLong));
  }
  struct Body {
    std::atomic<pid_t> tid;
    std::atomic<int> errno_before, locked, number;
    std::atomic<bool> goes_on, blocks_signals;
    char text[32];
  };
  static Body g_body;
};
BareThreadTest::Body BareThreadTest::g_body;

thread_local int t_initialised = 42;
thread_local int t_zero;

TEST_F(BareThreadTest, TheCLibraryStillSeesOneThread) {
  const char before = __libc_single_threaded;
  ASSERT_TRUE(start_bare_thread([] { g_body.tid = static_cast<pid_t>(syscall(SYS_gettid)); }));
  ASSERT_TRUE(wait_for_bare_thread(kLong));
  EXPECT_NE(g_body.tid, 0);
  EXPECT_NE(g_body.tid, getpid());
  EXPECT_EQ(__libc_single_threaded, before);
}

TEST_F(BareThreadTest, HasThreadLocalDataOfItsOwn) {
  errno = EDOM;
  t_initialised = 7;
  t_zero = 5;
  ASSERT_TRUE(start_bare_thread([] {
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
  ASSERT_TRUE(start_bare_thread([] {
    snprintf(g_body.text, sizeof g_body.text, "%.2f", strtod("1.25", nullptr));
    g_body.number = isdigit('7') ? atoi("12") : 0;
  }));
  ASSERT_TRUE(wait_for_bare_thread(kLong));
  EXPECT_STREQ(g_body.text, "1.25");
  EXPECT_EQ(g_body.number, 12);
}

// A recursive lock compares the owner's number: a thread of number 0 would enter a free lock
// without taking it, and the creator's lock if it had the creator's number.
TEST_F(BareThreadTest, RecursiveLocksKnowIt) {
  static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
  pthread_mutex_lock(&lock);
  ASSERT_TRUE(start_bare_thread([] { g_body.locked = pthread_mutex_trylock(&lock); }));
  ASSERT_TRUE(wait_for_bare_thread(kLong));
  EXPECT_EQ(g_body.locked, EBUSY);
  pthread_mutex_unlock(&lock);
  ASSERT_TRUE(start_bare_thread([] {
    g_body.locked = pthread_mutex_lock(&lock);
    g_body.goes_on = true;
    while (g_body.goes_on)
      usleep(100);
    pthread_mutex_unlock(&lock);
  }));
  while (!g_body.goes_on)
    usleep(100);
  EXPECT_EQ(pthread_mutex_trylock(&lock), EBUSY);
  g_body.goes_on = false;
  ASSERT_TRUE(wait_for_bare_thread(kLong));
  EXPECT_EQ(pthread_mutex_trylock(&lock), 0);
  pthread_mutex_unlock(&lock);
}

TEST_F(BareThreadTest, ReceivesNoSignal) {
  ASSERT_TRUE(start_bare_thread([] {
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    g_body.blocks_signals = sigismember(&blocked, SIGTERM) && sigismember(&blocked, SIGALRM);
  }));
  ASSERT_TRUE(wait_for_bare_thread(kLong));
  EXPECT_TRUE(g_body.blocks_signals);
  sigset_t after;
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  EXPECT_FALSE(sigismember(&after, SIGTERM) || sigismember(&after, SIGALRM));
}

TEST_F(BareThreadTest, OneRunsAtATime) {
  const auto waits = [] {
    g_body.tid = static_cast<pid_t>(syscall(SYS_gettid));
    g_body.goes_on = true;
    while (g_body.goes_on)
      usleep(100);
  };
  ASSERT_TRUE(start_bare_thread(waits));
  while (!g_body.goes_on)
    usleep(100);
  EXPECT_FALSE(bare_thread_has_ended());
  EXPECT_FALSE(wait_for_bare_thread(1000));
  const pid_t first = g_body.tid;
  EXPECT_FALSE(start_bare_thread(waits));
  EXPECT_EQ(g_body.tid, first);
  g_body.goes_on = false;
  EXPECT_TRUE(wait_for_bare_thread(kLong));
  EXPECT_TRUE(bare_thread_has_ended());
}

TEST_F(BareThreadTest, AChildStartsOneOfItsOwn) {
  ASSERT_TRUE(start_bare_thread([] {
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
    if (!start_bare_thread([] { g_body.number = t_initialised; }) || !wait_for_bare_thread(kLong))
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
