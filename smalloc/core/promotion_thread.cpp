// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// promotion_thread.cpp runs the helper thread: its pauses between two looks, its end, and what it must
// not do to the program. It has a descriptor table of its own, so that a file that it opens takes no
// number from the program; it ends when it is the last thread, so that the process can end; a fork of
// a program that has no other thread waits for the end of a look instead of taking locks.
#include "smalloc/core/promotion_thread.h"
#include "smalloc/agent/agent.h"
#include "smalloc/base/keep_errno.h"
#include "smalloc/base/units.h"
#include "smalloc/include/smalloc/site.h"
#include "smalloc/os/own_stack.h"
#include "smalloc/process/cpu_time.h"
#include "smalloc/process/fork_locks.h"
#include "smalloc/process/image_segments.h"
#include "smalloc/process/own_sandbox.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace smalloc {
namespace {
const PromotionWork *g_work;

enum class State : unsigned char { kNone, kRunning, kRefused };
std::atomic<State> g_state{State::kNone};
std::atomic<bool> g_inside{false}, g_paused{false}; ///< in a look; a fork is going on
std::atomic<uint32_t> g_hurried{0};                 ///< calls of promotion_thread_hurry(); a futex
std::atomic<bool> g_naps{false};                    ///< waits for g_hurried to change
constexpr long kIntervalNs = 20000000, kLongestNs = 640000000;
/// A loop writes a quarter of 2 MiB on base pages in 0.2 ms, on a superpage in 0.04 ms.
constexpr long kFillingNs = 80000, kMostFillingNs = 1000000, kRestNs = 50000000;
/// While an object waits to be filled, a pause is made of glances: the thread asks how many page faults the
/// process had. A program that fills nothing for long is asked less and less often.
constexpr long kGlanceNs = 2000000, kLongestGlanceNs = 32000000;
constexpr long kFillingFaults =
    64; ///< since the last glance; a page in the unit that an object begins with
/// So many quarters long the pauses stay short: a unit on base pages in front of what was given is not looked at.
constexpr long kFillingQuarters = 12;
/// Between two looks the thread sleeps this many times as long as a look took: while objects grow, and later.
constexpr long kFillingPauses = 8, kPauseTimesLook = 20;
constexpr unsigned kIdleIntervals = 50;
constexpr size_t kStackBytes =
    size_t{128} << 10; // a collapse needs little; thread-local storage of others is in it
constexpr unsigned kCloseRangeUnshare = 2; // CLOSE_RANGE_UNSHARE, Linux 5.9

bool anything_pending() { return __atomic_load_n(&__smalloc_v1_pending, __ATOMIC_RELAXED) != 0; }

void sleep_ns(long pause) {
  const timespec interval = {0, pause};
  nanosleep(&interval, nullptr);
}

/// Waits for `pause` ns, or until g_hurried is no longer `seen`. True: it was hurried.
bool nap(long pause, uint32_t seen) {
  const timespec timeout = {0, pause};
  g_naps.store(true);
  syscall(SYS_futex, &g_hurried, FUTEX_WAIT_PRIVATE, seen, &timeout, nullptr, 0);
  g_naps.store(false);
  return g_hurried.load() != seen;
}

/// Page faults of the process without input; 0 behind a filter of the program's own, which may kill for
/// getrusage(2). Cost: 0.4 us.
long minor_faults() {
  rusage usage;
  return !filters_itself() && getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_minflt : 0;
}

/// Waits for `pause` ns, or until hurried, or, beside objects that wait to be filled, until the program
/// takes page faults: then one of them may be filling. True: not the whole pause. `glance` is kept
/// between calls.
bool wait_for_fill(long pause, uint32_t seen, long &glance) {
  if (!g_work->watches_fills())
    return nap(pause, seen);
  long faults = minor_faults();
  while (pause > 0) {
    const long step = min_of(glance, pause);
    if (nap(step, seen))
      return true;
    pause -= step;
    const long now = minor_faults(), had = faults;
    faults = now;
    if (now - had >= kFillingFaults) {
      glance = kGlanceNs;
      return true;
    }
    glance = min_of(2 * glance, kLongestGlanceNs);
  }
  return false;
}

/// Runs `look` unless the program is forking.
template <class F> auto unless_paused(F look) -> decltype(look()) {
  for (;;) {
    g_inside.store(true);
    if (!g_paused.load())
      break;
    g_inside.store(false);
    sleep_ns(kFillingNs);
  }
  auto result = look();
  g_inside.store(false);
  return result;
}

unsigned look_ahead(bool all) {
  return unless_paused([&] { return g_work->look_ahead(all); });
}

/// True if the program's threads are gone: then nothing but this thread keeps the process alive.
/// /proc/self/stat has the state of the first thread and the number of threads (proc(5)).
bool is_alone() {
  char text[512];
  if (kLinux.read_file("/proc/self/stat", text, sizeof text) <= 0)
    return false;
  const char *at = strrchr(text, ')'); // the name may hold anything
  if (!at || at[1] != ' ')
    return false;
  const char state = at[2];
  unsigned threads = 0;
  for (unsigned field = 2; *at && field < 20; at++)
    field += *at == ' ';
  for (; *at >= '0' && *at <= '9'; at++)
    threads = threads * 10 + static_cast<unsigned>(*at - '0');
  return threads == 1 || (threads == 2 && state == 'Z');
}

// What is pending waits until the program has computed for as long as pays for it. One that sleeps is not woken for that fifty
// times a second.
long next_pause(long pause, long used) {
  return used >= pause / 16 ? kIntervalNs : min_of(2 * pause, kLongestNs);
}

/// Looks at objects that are being filled until none has grown for kRestNs. The pause between two looks is
/// what the fastest of them takes for a quarter of a superpage. After a while in which nothing grows it is a quarter
/// of that while. It is not less than kFillingPauses times what a look takes.
void look_ahead_of_fills() {
  long pause = kFillingNs, quarter = 2 * kFillingNs, rest = 0;
  uint64_t before = kLinux.now_ns();
  while (rest < kRestNs) {
    long glance = kGlanceNs;
    if (pause <= glance)
      sleep_ns(pause);
    else
      wait_for_fill(pause, g_hurried.load(), glance);
    const uint64_t began = used_ns<CLOCK_THREAD_CPUTIME_ID>();
    const unsigned parts = look_ahead(/*all=*/false);
    const auto took = static_cast<long>(used_ns<CLOCK_THREAD_CPUTIME_ID>() - began);
    const uint64_t now = kLinux.now_ns();
    if (parts) {
      const long elapsed = static_cast<long>(now - before) * (kUnitParts / 4) / parts;
      quarter = max_of(max_of(min_of(elapsed, kMostFillingNs), kFillingNs), quarter / 2);
      rest = 0;
    } else {
      rest += pause;
    }
    before = now;
    pause = rest <= kFillingQuarters * quarter
                ? max_of(quarter, kFillingPauses * took)
                : min_of(max_of(rest / 4, kPauseTimesLook * took), kIntervalNs);
  }
}

void *look(void *) {
  prctl(PR_SET_NAME, "smalloc");
  prctl(PR_SET_TIMERSLACK,
        1000UL); // of this thread: the default of 50 us is a third of a unit's fill
  // An agent's files are the process' own; without one this thread needs none of the program's.
  if (!g_agent.active() && syscall(SYS_close_range, 0U, ~0U, kCloseRangeUnshare) != 0) {
    g_state.store(State::kRefused, std::memory_order_release);
    return nullptr;
  }
  unsigned idle = 0;
  long pause = kIntervalNs;
  uint64_t used_before = used_ns<CLOCK_PROCESS_CPUTIME_ID>();
  look_ahead_of_fills();
  uint32_t hurried = g_hurried.load();
  long glance = kGlanceNs;
  while (!is_alone()) {
    const bool fills = wait_for_fill(pause, hurried, glance), hurries = g_hurried.load() != hurried;
    hurried = g_hurried.load();
    if (look_ahead(/*all=*/true) || hurries) {
      look_ahead_of_fills();
      glance = kGlanceNs;
      pause = kIntervalNs;
    } else if (fills) { // something else than what is watched
      glance = kLongestGlanceNs;
      continue;
    }
    if (anything_pending()) {
      idle = 0;
      unless_paused([] {
        g_work->promote_by_time();
        return true;
      });
      const uint64_t used = used_ns<CLOCK_PROCESS_CPUTIME_ID>();
      pause = next_pause(pause, static_cast<long>(used - used_before));
      used_before = used;
    } else if (++idle == kIdleIntervals) {
      break;
    } else {
      pause = kIntervalNs;
    }
  }
  g_state.store(State::kNone, std::memory_order_release);
  // What became pending just now saw a running thread.
  if (anything_pending() && !is_alone())
    promotion_thread_wake(*g_work);
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
  const bool ok = pthread_create(&thread, &attributes, look, nullptr) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return ok;
}

} // namespace

void promotion_thread_wake(const PromotionWork &work) {
  State seen = State::kNone;
  if (!g_state.compare_exchange_strong(seen, State::kRunning, std::memory_order_acq_rel))
    return;
  if (filters_itself()) { // since the heaps started
    g_state.store(State::kRefused, std::memory_order_release);
    return;
  }
  int saved = errno;
  g_work = &work;
  set_alone_with_helper(promotion_thread_pauses_for_fork);
  bool created = false; // creation takes 3 KiB
  on_own_stack([&] { created = create(); });
  if (!created)
    g_state.store(State::kRefused, std::memory_order_release);
  errno = saved;
}

void promotion_thread_hurry() {
  g_hurried.fetch_add(1);
  if (!g_naps.load())
    return;
  KeepErrno keep;
  syscall(SYS_futex, &g_hurried, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

bool promotion_thread_pauses_for_fork() {
  if (g_state.load(std::memory_order_acquire) != State::kRunning)
    return false;
  if (g_paused.load()) // by an earlier handler of this fork
    return true;
  const unsigned threads = thread_count();
  if (threads == 0 || threads > 2)
    return false;
  constexpr unsigned kMostWaits = 8; // a look takes some 20 us, a collapse in it longer
  g_paused.store(true);
  for (unsigned i = 0; g_inside.load() && i < kMostWaits; i++)
    sleep_ns(kFillingNs);
  return true;
}

bool promotion_thread_is_paused() { return g_paused.load(std::memory_order_relaxed); }

bool promotion_thread_is_inside() { return g_inside.load(); }

void promotion_thread_resume() { g_paused.store(false); }

void promotion_thread_forget() {
  g_state.store(State::kNone, std::memory_order_relaxed);
  g_inside.store(false);
  g_paused.store(false);
  g_naps.store(false);
}

} // namespace smalloc
