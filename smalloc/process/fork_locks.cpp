// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fork_locks.cpp registers fork handlers that take and release libsmalloc's locks. It takes the
// locks only in a process with several threads: glibc's __libc_single_threaded shows this, and
// without it the answer is always "several". Each handler records in `taken` what prepare() did,
// because the child has one thread only and must release what the parent took.
#include "smalloc/process/fork_locks.h"

#include <atomic>
#include <errno.h>
#include <pthread.h>
#include <sched.h>

extern "C" {
extern char __libc_single_threaded __attribute__((weak)); // glibc 2.32
// glibc exports these functions for its own use.
void _IO_list_lock(void) __attribute__((weak));
void _IO_list_unlock(void) __attribute__((weak));
void _IO_list_resetlock(void) __attribute__((weak));
}

namespace smalloc {
namespace {

struct Handlers {
  std::atomic<void (*)()> prepare{nullptr}; // nullptr: the slot is free
  void (*parent)() = nullptr;
  void (*child)() = nullptr;
  bool taken = false;
};
// Constant-initialised: registration may run before any constructor of libsmalloc, and a later
// constructor would undo it.
constinit Handlers g_handlers[kMostForkLocks];
constinit std::atomic<unsigned> g_count{0};
constinit std::atomic<bool (*)(bool)> g_alone_with_helper{nullptr};

template <unsigned k> void prepare() {
  auto *const take = g_handlers[k].prepare.load(std::memory_order_acquire);
  if (!take || !fork_needs_locks())
    return;
  lock_streams();
  take();
  g_handlers[k].taken = true; // under the locks: two threads may fork at the same time
}
template <unsigned k> void parent() {
  Handlers &h = g_handlers[k];
  if (!h.taken)
    return;
  h.taken = false;
  h.parent();
  unlock_streams(/*in_child=*/false);
}
template <unsigned k> void child() {
  Handlers &h = g_handlers[k];
  if (!h.taken)
    return;
  h.taken = false;
  h.child();
  unlock_streams(/*in_child=*/true);
}

template <unsigned k> int enlist() { return pthread_atfork(prepare<k>, parent<k>, child<k>); }
int (*const kEnlist[kMostForkLocks])() = {enlist<0>, enlist<1>, enlist<2>, enlist<3>};
constinit std::atomic<bool> g_reserving{false}, g_reserved{false};
constinit std::atomic<unsigned> g_slots{0}; // number of handlers registered with pthread_atfork

} // namespace

void lock_streams() {
  if (_IO_list_lock)
    _IO_list_lock();
}

void unlock_streams(bool in_child) {
  auto *const unlock = in_child ? _IO_list_resetlock : _IO_list_unlock;
  if (unlock)
    unlock();
}

bool has_had_threads() { return !&__libc_single_threaded || !__libc_single_threaded; }

bool fork_needs_locks() {
  const bool one_known = !has_had_threads();
  auto *const alone = g_alone_with_helper.load(std::memory_order_acquire);
  return !(alone && alone(one_known)) && !one_known;
}

void set_alone_with_helper(bool (*alone)(bool one_known)) {
  g_alone_with_helper.store(alone, std::memory_order_release);
}

void reserve_fork_handlers() {
  if (g_reserving.exchange(true)) {
    while (!g_reserved.load(std::memory_order_acquire))
      sched_yield();
    return;
  }
  if (register_before_fork_locks)
    register_before_fork_locks();
  unsigned k = 0;
  while (k < kMostForkLocks && kEnlist[k]() == 0)
    k++;
  g_slots.store(k, std::memory_order_relaxed);
  g_reserved.store(true, std::memory_order_release);
}

int lock_at_fork(void (*prepare)(), void (*parent)(), void (*child)()) {
  reserve_fork_handlers();
  unsigned k = g_count.fetch_add(1);
  if (k >= g_slots.load(std::memory_order_relaxed))
    return ENOMEM;
  g_handlers[k].parent = parent;
  g_handlers[k].child = child;
  g_handlers[k].prepare.store(prepare, std::memory_order_release);
  return 0;
}

} // namespace smalloc
