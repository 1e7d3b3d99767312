// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// promotion_thread.cpp decides when the thread sleeps, looks and ends.
#include "smalloc/core/promotion_thread.h"
#include "smalloc/base/units.h"
#include "smalloc/core/runtime.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>

namespace smalloc {
namespace {

enum class State : unsigned char { kNone, kRunning, kRefused };
std::atomic<State> g_state{State::kNone};
constexpr long kIntervalNs = 20000000, kLongestNs = 640000000;
/// A loop writes 2 MiB on base pages in 0.8 ms, on a superpage in 0.15 ms.
constexpr long kUnitFillNs = 150000, kFillingNs = 80000, kMostFillingNs = 1000000,
               kRestNs = 50000000;
constexpr unsigned kIdleIntervals = 50;
constexpr size_t kStackBytes =
    size_t{128} << 10; // a collapse needs little; thread-local storage of others is in it

bool anything_pending() { return __atomic_load_n(&__smalloc_v1_pending, __ATOMIC_RELAXED) != 0; }

long used_ns() {
  timespec used = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return used.tv_sec * 1000000000 + used.tv_nsec;
}

// What is pending waits until the program has computed for as long as pays for it. One that sleeps is not woken for that fifty
// times a second.
long next_pause(long pause, long used) {
  return used >= pause / 16 ? kIntervalNs : min_of(2 * pause, kLongestNs);
}

/// Looks at objects that are being filled until none has grown for kRestNs. The pause between two
/// looks is half the time in which the program fills what was given ahead, and doubles while nothing
/// grows.
void look_ahead_of_fills() {
  long pause = kFillingNs, rest = 0;
  while (rest < kRestNs) {
    timespec interval = {0, pause};
    nanosleep(&interval, nullptr);
    unsigned given;
    if (g_runtime.look_ahead(given)) {
      pause = min_of(max_of(static_cast<long>(given) * kUnitFillNs / 2, kFillingNs), kMostFillingNs);
      rest = 0;
    } else {
      rest += pause;
      pause = min_of(2 * pause, kIntervalNs);
    }
  }
}

void *look(void *) {
  prctl(PR_SET_TIMERSLACK, 1000UL); // of this thread: the default of 50 us is a third of a unit's fill
  unsigned idle = 0;
  long pause = kIntervalNs, used_before = used_ns();
  look_ahead_of_fills();
  for (;;) {
    timespec interval = {0, pause};
    nanosleep(&interval, nullptr);
    unsigned given;
    if (g_runtime.look_ahead(given)) {
      look_ahead_of_fills();
      pause = kIntervalNs;
    }
    if (anything_pending()) {
      idle = 0;
      g_runtime.promote_by_time();
      const long used = used_ns();
      pause = next_pause(pause, used - used_before);
      used_before = used;
    } else if (++idle == kIdleIntervals) {
      break;
    } else {
      pause = kIntervalNs;
    }
  }
  g_state.store(State::kNone, std::memory_order_release);
  // What became pending just now saw a running thread.
  if (anything_pending())
    promotion_thread_wake();
  return nullptr;
}

bool create() {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0)
    return false;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  pthread_t thread;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  bool ok = pthread_create(&thread, &attributes, look, nullptr) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  if (ok)
    pthread_setname_np(thread, "smalloc");
  return ok;
}

} // namespace

void promotion_thread_wake() {
  State seen = State::kNone;
  if (!g_state.compare_exchange_strong(seen, State::kRunning, std::memory_order_acq_rel))
    return;
  int saved = errno;
  if (!create())
    g_state.store(State::kRefused, std::memory_order_release);
  errno = saved;
}

void promotion_thread_forget() { g_state.store(State::kNone, std::memory_order_relaxed); }

} // namespace smalloc
