// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// spin_lock.h guards libsmalloc's short critical sections with a lock word that records no owner. A
// fork handler can therefore release in the child a lock that a thread of the parent held. A waiter
// spins for 64 tries, yields for 64 more, then sleeps 50 us between tries. No code holds a SpinLock
// while it calls libsmalloc's own malloc. (JoiningHeap calls the program's.) The longest system
// call under a SpinLock is a collapse, some milliseconds; only the start, under Runtime's
// options_lock_, reads whole files.
#ifndef SMALLOC_BASE_SPIN_LOCK_H
#define SMALLOC_BASE_SPIN_LOCK_H

#include "smalloc/base/sleep.h"

#include <atomic>
#include <sched.h>

namespace smalloc {

class SpinLock {
public:
  bool try_lock() noexcept { return !held_.exchange(true, std::memory_order_acquire); }
  void lock() noexcept {
    for (unsigned tries = 0; !try_lock(); tries++) {
      if (tries < 64)
        relax();
      else if (tries < 128)
        sched_yield();
      else
        sleep_ns(50000); // a real-time thread that only yields would keep the holder from running
    }
  }
  /// Waits until the lock is free, and returns true without holding it. Returns false after 10000
  /// tries: a signal handler may have interrupted the thread that holds the lock.
  bool comes_free() noexcept {
    constexpr unsigned kTries = 10000;
    for (unsigned tries = 0; tries < kTries; tries++) {
      if (try_lock()) {
        unlock();
        return true;
      }
      relax();
    }
    return false;
  }
  void unlock() noexcept { held_.store(false, std::memory_order_release); }

private:
  static void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
  }
  std::atomic<bool> held_{false};
};

class SpinGuard {
public:
  explicit SpinGuard(SpinLock &lock) noexcept : lock_(lock) { lock_.lock(); }
  ~SpinGuard() { lock_.unlock(); }
  SpinGuard(const SpinGuard &) = delete;
  SpinGuard &operator=(const SpinGuard &) = delete;

private:
  SpinLock &lock_;
};

} // namespace smalloc
#endif
