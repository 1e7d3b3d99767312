// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cerrno>
#include <gtest/gtest.h>
#include <pthread.h>
#include <thread>
#include <vector>

extern "C" {
int jesys_pthread_mutex_init(pthread_mutex_t *, const pthread_mutexattr_t *);
int jesys_pthread_mutex_lock(pthread_mutex_t *);
int jesys_pthread_mutex_trylock(pthread_mutex_t *);
int jesys_pthread_mutex_unlock(pthread_mutex_t *);
}

namespace {

TEST(JemallocLocks, ExcludeEachOther) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; // jemalloc's initial value
  long sum = 0;
  std::vector<std::thread> threads;
  for (int k = 0; k < 4; k++)
    threads.emplace_back([&] {
      for (int i = 0; i < 200000; i++) {
        if (jesys_pthread_mutex_trylock(&mutex) != 0)
          jesys_pthread_mutex_lock(&mutex);
        sum++;
        jesys_pthread_mutex_unlock(&mutex);
      }
    });
  for (auto &t : threads)
    t.join();
  EXPECT_EQ(sum, 800000);
}

TEST(JemallocLocks, WakeASleepingThreadAndKeepErrno) {
  pthread_mutex_t mutex;
  jesys_pthread_mutex_init(&mutex, nullptr);
  EXPECT_EQ(jesys_pthread_mutex_lock(&mutex), 0);
  int before = 0, after = 0;
  std::thread waiter([&] {
    before = errno = EDOM;
    jesys_pthread_mutex_lock(&mutex);
    after = errno;
    jesys_pthread_mutex_unlock(&mutex);
  });
  // 2: a thread sleeps, or is about to.
  while (__atomic_load_n(reinterpret_cast<int *>(&mutex), __ATOMIC_RELAXED) != 2)
    std::this_thread::yield();
  EXPECT_EQ(jesys_pthread_mutex_trylock(&mutex), EBUSY);
  errno = ERANGE;
  jesys_pthread_mutex_unlock(&mutex);
  EXPECT_EQ(errno, ERANGE);
  waiter.join(); // hangs if the wake-up is lost
  EXPECT_EQ(after, before);
  EXPECT_EQ(jesys_pthread_mutex_trylock(&mutex), 0);
}

// A child of fork releases what another thread of the parent held.
TEST(JemallocLocks, BecomeFreeByInitialisation) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  jesys_pthread_mutex_lock(&mutex);
  jesys_pthread_mutex_init(&mutex, nullptr);
  EXPECT_EQ(jesys_pthread_mutex_trylock(&mutex), 0);
}

} // namespace
