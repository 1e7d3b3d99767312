// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// thread_without_cache_test.cpp plays jemalloc's initialiser of a thread's cache, which reads
// opt.tcache twice: for the thread's flag, and for the cache.
#include "smalloc/jemalloc/thread_without_cache.h"

#include <chrono>
#include <gtest/gtest.h>
#include <thread>

namespace smalloc {
namespace {

ThreadCacheInit g_init;
bool g_opt_tcache = true;
std::atomic<bool> g_begun, g_read; ///< the slow thread is between its two reads; behind them
thread_local bool t_no_memory, t_has_memory, t_slow, t_enabled, t_cached;

bool option() { return __atomic_load_n(&g_opt_tcache, __ATOMIC_RELAXED); }

bool fake_init(jemalloc_thread *) {
  t_enabled = option();
  if (t_slow) {
    g_begun = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  // Leaves the option off for as long as the other thread needs to read it.
  for (int i = 0; !t_enabled && i < 40 && !g_read; i++)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  t_cached = option() && t_has_memory;
  t_no_memory = option() && !t_has_memory;
  g_read = g_read || t_slow;
  return t_no_memory;
}
bool run() { return g_init.run(fake_init, nullptr, t_no_memory, g_opt_tcache); }

TEST(ThreadWithoutCacheTest, AThreadWithoutMemoryWorksWithoutACache) {
  t_has_memory = false;
  run();
  EXPECT_FALSE(t_enabled);
  EXPECT_TRUE(g_opt_tcache);
  t_has_memory = true;
  run();
  EXPECT_TRUE(t_enabled && t_cached);
}

TEST(ThreadWithoutCacheTest, AThreadThatStartsMeanwhileHasACacheOrKnowsThatItHasNone) {
  t_has_memory = t_slow = true;
  std::thread other([] {
    while (!g_begun)
      std::this_thread::yield();
    run(); // without memory
    EXPECT_FALSE(t_enabled);
  });
  run();
  EXPECT_EQ(t_enabled, t_cached);
  other.join();
  t_slow = false;
  EXPECT_TRUE(g_opt_tcache);
}

} // namespace
} // namespace smalloc
