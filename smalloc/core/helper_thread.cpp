// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// helper_thread.cpp orders the start of a bare helper against a change of credentials in another
// thread. The starting thread stores kStarting and then reads g_forbidden; the changing thread
// increments g_forbidden and then reads g_bare. So either the start is given up, or the change
// waits for the end of the new thread.
#include "smalloc/core/helper_thread.h"
#include "smalloc/agent/agent.h"
#include "smalloc/base/keep_errno.h"
#include "smalloc/base/sleep.h"
#include "smalloc/process/fork_locks.h"

#include <atomic>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>

namespace smalloc {
namespace {

enum class Bare : unsigned char { kNone, kStarting, kStarted };
std::atomic<Bare> g_bare{Bare::kNone}; ///< kStarted: also after the thread's end
std::atomic<bool> g_is_bare{false};    ///< the last thread started is a bare one
std::atomic<bool> g_replaced{false};   ///< replace_bare_helper() was called for this thread
std::atomic<unsigned> g_forbidden{0};  ///< forbid_bare_helper() calls in effect
std::atomic<unsigned> g_changes{0};    ///< all forbid_bare_helper() calls
std::atomic<unsigned> g_started_at{0}; ///< g_changes when the bare thread was started
void (*g_body)();

// A look needs little, but other libraries' thread-local storage is included.
constexpr size_t kStackBytes = size_t{128} << 10;
constexpr long kMostEndingNs = 1000000000, kEndingStepNs = 1000000;

/// Starts a bare helper. Refuses one in a process with threads, or with an agent, which reads and
/// writes files in the helper.
ThreadStart start_bare(void (*body)()) {
  if (has_had_threads() || g_agent.active())
    return ThreadStart::kRefused;
  const Bare before = g_bare.exchange(Bare::kStarting);
  g_started_at.store(g_changes.load());
  ThreadStart start = ThreadStart::kBusy;
  if (g_forbidden.load() == 0) {
    g_is_bare.store(true);
    start = start_bare_thread(body);
  }
  g_bare.store(start == ThreadStart::kStarted ? Bare::kStarted : before);
  return start;
}

bool start_known(void (*body)()) {
  g_is_bare.store(false);
  g_body = body;
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0)
    return false;
  pthread_t thread;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  const auto run = [](void *) -> void * {
    g_body();
    return nullptr;
  };
  const bool ok = pthread_create(&thread, &attributes, run, nullptr) == 0;
  pthread_attr_destroy(&attributes);
  return ok;
}

} // namespace

ThreadStart start_helper_thread(void (*body)(), bool known) {
  sigset_t all, before;
  sigfillset(&all);
  // Also while the state is kStarting: a handler may change the credentials.
  pthread_sigmask(SIG_BLOCK, &all, &before);
  g_replaced.store(false);
  ThreadStart start = known ? ThreadStart::kRefused : start_bare(body);
  if (start == ThreadStart::kRefused && start_known(body))
    start = ThreadStart::kStarted;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return start;
}

bool helper_is_bare() { return g_is_bare.load(std::memory_order_relaxed); }

void replace_bare_helper() {
  if (helper_is_bare())
    g_replaced.store(true);
}

bool helper_must_end() {
  return g_replaced.load(std::memory_order_relaxed) ||
         (helper_is_bare() && (g_forbidden.load(std::memory_order_relaxed) != 0 ||
                               g_changes.load(std::memory_order_relaxed) !=
                                   g_started_at.load(std::memory_order_relaxed)));
}

void forbid_bare_helper(void (*wake)()) {
  g_forbidden.fetch_add(1);
  g_changes.fetch_add(1);
  if (g_bare.load() == Bare::kNone)
    return;
  KeepErrno keep;
  wake();
  for (long waited = 0; waited < kMostEndingNs; waited += kEndingStepNs) {
    const Bare bare = g_bare.load();
    if (bare == Bare::kNone || (bare == Bare::kStarted && wait_for_bare_thread(kEndingStepNs)))
      return;
    if (bare == Bare::kStarting)
      sleep_ns(kEndingStepNs);
  }
}

void allow_bare_helper() { g_forbidden.fetch_sub(1); }

void forget_helper_thread() {
  g_bare.store(Bare::kNone);
  g_is_bare.store(false);
  g_replaced.store(false);
  g_forbidden.store(0);
  forget_bare_thread();
}

} // namespace smalloc
