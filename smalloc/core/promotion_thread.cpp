// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// promotion_thread.cpp runs the helper thread: its looks, the pauses between them, and its end. It
// has a descriptor table of its own, so that its open files take no number from the program. It
// ends when it is the last thread, so that the process can end. A fork of a program without other
// threads waits for the end of a look instead of taking locks.
#include "smalloc/core/promotion_thread.h"
#include "smalloc/agent/agent.h"
#include "smalloc/base/clock.h"
#include "smalloc/base/keep_errno.h"
#include "smalloc/base/numbers.h"
#include "smalloc/base/sleep.h"
#include "smalloc/base/units.h"
#include "smalloc/core/helper_thread.h"
#include "smalloc/include/smalloc/site.h"
#include "smalloc/os/own_stack.h"
#include "smalloc/process/fork_locks.h"
#include "smalloc/process/image_segments.h"
#include "smalloc/process/own_sandbox.h"

#include <errno.h>
#include <linux/futex.h>
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
std::atomic<bool> g_inside{false}, g_paused{false}; ///< in a look; a fork is running
std::atomic<uint32_t> g_hurried{0};                 ///< calls of promotion_thread_hurry(); a futex
std::atomic<bool> g_naps{false};                    ///< the thread waits for g_hurried to change
constexpr long kIntervalNs = 20000000, kLongestNs = 640000000;
/// A loop writes a quarter of 2 MiB in 0.2 ms on base pages, in 0.04 ms on a superpage.
constexpr long kFillingNs = 80000, kMostFillingNs = 1000000, kRestNs = 50000000;
/// While an object waits to be filled, a pause consists of glances: the thread reads the process'
/// count of page faults. If the program fills nothing, the glances become less frequent.
constexpr long kGlanceNs = 2000000, kLongestGlanceNs = 32000000;
/// The same while the program runs: a loop fills a unit on base pages in 0.8 ms.
constexpr long kLongestBusyGlanceNs = 4000000;
/// Page faults since the last glance that show a fill. In an object's first unit each is about one
/// page.
constexpr long kFillingFaults = 64;
/// Time without growth during which pauses stay short, in times that a quarter of a unit takes. The
/// program may be filling a unit on base pages in front of the given units, which no look examines.
constexpr long kFillingQuarters = 12;
/// Least pause after a look that found no growth, as a multiple of the look's time: soon after a
/// growth, and later.
constexpr long kFillingPauses = 8, kPauseTimesLook = 20;
constexpr unsigned kIdleIntervals = 50;
constexpr long kKeepingNs = 100000000;     ///< pause while only unused memory is kept
constexpr unsigned kCloseRangeUnshare = 2; // CLOSE_RANGE_UNSHARE, Linux 5.9

bool anything_pending() { return __atomic_load_n(&__smalloc_v1_pending, __ATOMIC_RELAXED) != 0; }

/// Waits for `pause` ns, or until g_hurried is no longer `seen`. True: it was hurried.
bool nap(long pause, uint32_t seen) {
  const timespec timeout = {0, pause};
  g_naps.store(true);
  syscall(SYS_futex, &g_hurried, FUTEX_WAIT_PRIVATE, seen, &timeout, nullptr, 0);
  g_naps.store(false);
  return g_hurried.load() != seen;
}

/// Returns the minor page faults of the process, those without I/O. Returns 0 if the program has
/// installed a seccomp filter, which may kill for getrusage(2). Cost: 0.4 us.
long minor_faults() {
  rusage usage;
  return !filters_itself() && getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_minflt : 0;
}

/// Waits for `pause` ns, or until hurried. While objects wait to be filled, also ends when the
/// program takes page faults: then it may be filling one. True: ended early. `glance` is kept
/// between calls.
bool wait_for_fill(long pause, uint32_t seen, long &glance) {
  if (!g_work->watches_fills())
    return nap(pause, seen);
  long faults = minor_faults();
  uint64_t used = clock_ns<CLOCK_PROCESS_CPUTIME_ID>();
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
    const uint64_t used_before = used;
    used = clock_ns<CLOCK_PROCESS_CPUTIME_ID>();
    const bool busy = used - used_before >= static_cast<uint64_t>(step) / 16;
    glance = min_of(2 * glance, busy ? kLongestBusyGlanceNs : kLongestGlanceNs);
  }
  return false;
}

/// Runs `look`; while the program forks, it waits first. Returns 0 without a look if the thread
/// must end.
template <class F> auto unless_paused(F look) -> decltype(look()) {
  for (;;) {
    g_inside.store(true);
    if (!g_paused.load())
      break;
    g_inside.store(false);
    if (helper_must_end())
      return {};
    sleep_ns(kFillingNs);
  }
  auto result = look();
  g_inside.store(false);
  return result;
}

unsigned look_ahead(bool all) {
  return unless_paused([&] { return g_work->look_ahead(all); });
}

/// Returns true if unused memory is still kept.
bool give_back() {
  return unless_paused([] { return g_work->give_back(); });
}

/// True if the program's threads have ended: then only this thread keeps the process alive.
/// /proc/self/stat has the state of the first thread and the number of threads (proc(5)).
bool is_alone() {
  char text[512];
  if (kLinux.read_file("/proc/self/stat", text, sizeof text) <= 0)
    return false;
  const char *at = strrchr(text, ')'); // the name may contain any character
  if (!at || at[1] != ' ')
    return false;
  const char state = at[2];
  for (unsigned field = 2; *at && field < 20; at++)
    field += *at == ' ';
  const uint64_t threads = take_number(at);
  return threads == 1 || (threads == 2 && state == 'Z');
}

// Returns the next pause. Waiting units need credit, which grows with the program's CPU time. A
// sleeping program is not woken fifty times a second for that.
long next_pause(long pause, long used) {
  return used >= pause / 16 ? kIntervalNs : min_of(2 * pause, kLongestNs);
}

/// Looks at objects that are being filled until none has grown for kRestNs. The pause is the time
/// in which the fastest object fills a quarter of a superpage. After a time without growth it is a
/// quarter of that time. It is at least the time of a look that found a growth, and else
/// kFillingPauses times that.
void look_ahead_of_fills() {
  long pause = kFillingNs, quarter = 2 * kFillingNs, rest = 0;
  uint64_t before = kLinux.now_ns();
  while (rest < kRestNs && !helper_must_end()) {
    long glance = kGlanceNs;
    if (pause <= glance)
      sleep_ns(pause);
    else
      wait_for_fill(pause, g_hurried.load(), glance);
    const uint64_t began = clock_ns<CLOCK_THREAD_CPUTIME_ID>();
    const unsigned parts = look_ahead(/*all=*/false);
    const auto took = static_cast<long>(clock_ns<CLOCK_THREAD_CPUTIME_ID>() - began);
    const uint64_t now = kLinux.now_ns();
    if (parts) {
      const long elapsed = static_cast<long>(now - before) * (kUnitParts / 4) / parts;
      quarter = max_of(min_of(elapsed, min_of(2 * quarter, kMostFillingNs)), kFillingNs);
      rest = 0;
    } else {
      rest += pause;
    }
    before = now;
    pause = rest <= kFillingQuarters * quarter
                ? max_of(quarter, (parts ? 1 : kFillingPauses) * took)
                : min_of(max_of(rest / 4, kPauseTimesLook * took), kIntervalNs);
  }
}

/// Looks until nothing is pending or kept, or the thread must end. False: it must not run at all.
bool look_until_idle() {
  prctl(PR_SET_NAME, "smalloc");
  prctl(PR_SET_TIMERSLACK,
        1000UL); // for this thread: the default of 50 us is a third of a unit's fill time
  // An active agent uses the process' files. Otherwise this thread needs none of the program's
  // descriptors.
  // The program may have installed a filter for all threads since this one was created.
  if (filters_itself() ||
      (!g_agent.active() && syscall(SYS_close_range, 0U, ~0U, kCloseRangeUnshare) != 0)) {
    return false;
  }
  unsigned idle = 0;
  long pause = kIntervalNs;
  uint64_t used_before = clock_ns<CLOCK_PROCESS_CPUTIME_ID>();
  look_ahead_of_fills();
  uint32_t hurried = g_hurried.load();
  long glance = kGlanceNs;
  unsigned vain = 0; // consecutive looks that page faults outside the watched objects have caused
  while (!helper_must_end() && !is_alone()) {
    const bool fills = wait_for_fill(pause, hurried, glance), hurries = g_hurried.load() != hurried;
    hurried = g_hurried.load();
    const bool keeps = give_back();
    if (look_ahead(/*all=*/true) || hurries) {
      look_ahead_of_fills();
      glance = kGlanceNs;
      pause = kIntervalNs;
      vain = 0;
    } else if (fills) {
      glance = min_of(kGlanceNs << min_of(++vain, 4u), kLongestGlanceNs);
      continue;
    }
    if (anything_pending()) {
      idle = 0;
      unless_paused([] {
        g_work->promote_by_time();
        return true;
      });
      const uint64_t used = clock_ns<CLOCK_PROCESS_CPUTIME_ID>();
      pause = next_pause(pause, static_cast<long>(used - used_before));
      used_before = used;
    } else if (keeps) {
      idle = 0;
      pause = kKeepingNs;
    } else if (++idle == kIdleIntervals) {
      break;
    } else {
      pause = kIntervalNs;
    }
  }
  return true;
}

void look() {
  for (;;) {
    const bool may_run = look_until_idle();
    g_state.store(may_run ? State::kNone : State::kRefused, std::memory_order_release);
    // A unit that became pending, or memory kept, just now has seen a running thread. From here on
    // a fork does not wait for this thread, so it takes no lock.
    State none = State::kNone;
    if (!may_run || helper_must_end() || !(anything_pending() || g_work->keeps()) || is_alone() ||
        !g_state.compare_exchange_strong(none, State::kRunning, std::memory_order_acq_rel))
      return;
  }
}

} // namespace

void promotion_thread_wake(const PromotionWork &work, bool calls_malloc) {
  State seen = State::kNone;
  if (!g_state.compare_exchange_strong(seen, State::kRunning, std::memory_order_acq_rel)) {
    if (calls_malloc && seen == State::kRunning && helper_is_bare()) {
      replace_bare_helper();
      promotion_thread_hurry();
    }
    return;
  }
  if (filters_itself()) { // a filter installed since the heaps started
    g_state.store(State::kRefused, std::memory_order_release);
    return;
  }
  int saved = errno;
  g_work = &work;
  set_alone_with_helper(promotion_thread_pauses_for_fork);
  auto start = ThreadStart::kRefused; // creation needs 3 KiB of stack
  on_own_stack([&] { start = start_helper_thread(look, calls_malloc); });
  if (start != ThreadStart::kStarted)
    g_state.store(start == ThreadStart::kBusy ? State::kNone : State::kRefused,
                  std::memory_order_release);
  errno = saved;
}

bool promotion_thread_runs() { return g_state.load(std::memory_order_relaxed) == State::kRunning; }

void promotion_thread_hurry() {
  g_hurried.fetch_add(1);
  if (!g_naps.load())
    return;
  KeepErrno keep;
  syscall(SYS_futex, &g_hurried, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

bool promotion_thread_pauses_for_fork(bool one_known) {
  // A bare thread that has found nothing more to do may find work at its end.
  if (g_state.load(std::memory_order_acquire) != State::kRunning &&
      (!helper_is_bare() || bare_thread_has_ended()))
    return false;
  if (g_paused.load()) // set by an earlier handler of this fork
    return true;
  const unsigned threads = one_known ? 2 : thread_count();
  if (threads == 0 || threads > 2)
    return false;
  // A look takes about 20 us, with a collapse or memory to give back some ms. It may hold locks of
  // heaps that the child needs. It takes longer if other processes keep its thread from running.
  constexpr unsigned kMostWaits = 12500; // a second
  g_paused.store(true);
  for (unsigned i = 0; g_inside.load() && i < kMostWaits; i++)
    sleep_ns(kFillingNs);
  return true;
}

bool promotion_thread_is_paused() { return g_paused.load(std::memory_order_relaxed); }

bool promotion_thread_is_inside() { return g_inside.load(); }

void promotion_thread_forbid() { forbid_bare_helper(promotion_thread_hurry); }

void promotion_thread_allow() { allow_bare_helper(); }

void promotion_thread_resume() { g_paused.store(false); }

void promotion_thread_forget() {
  g_state.store(State::kNone, std::memory_order_relaxed);
  g_inside.store(false);
  g_paused.store(false);
  g_naps.store(false);
  forget_helper_thread();
}

} // namespace smalloc
