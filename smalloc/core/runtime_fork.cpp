// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// runtime_fork.cpp lets a program fork while its threads allocate. The parent takes all locks of
// the heaps before the fork, in one order; parent and child release them afterwards. The child gets
// a copy of the pages of a pool, which it cannot share, and does without the helper thread.
#include "smalloc/core/promotion_thread.h"
#include "smalloc/core/runtime.h"
#include "smalloc/process/fork_locks.h"
#include "smalloc/sites/modules.h"
#include "smalloc/sites/object_placement.h"
#include "smalloc/small/node_heaps.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

namespace smalloc {

/// Registers libsmalloc's handlers before jemalloc's, which registers its own at its start. Prepare
/// handlers run last in, first out. So jemalloc's locks are taken before libsmalloc's, as in an
/// allocation.
void register_before_fork_locks() {
  pthread_atfork([] { g_runtime.before_fork(); }, [] { g_runtime.after_fork(); },
                 [] { g_runtime.after_fork_in_child(); });
}

void Runtime::install_fork_handlers() {
  static std::atomic<bool> told{false};
  if (told.exchange(true))
    return;
  process_ = getpid();
  reserve_fork_handlers();
  pthread_atfork([] { g_runtime.before_fork_locks(); }, nullptr, nullptr);
}

/// True if the heaps have run. They may be switched off since, but their objects exist.
static bool have_heaps() { return g_range.bytes.load(std::memory_order_acquire) != 0; }

void Runtime::before_fork_locks() {
  g_small.fork_begins();
  if (!have_heaps() || !fork_needs_locks())
    return;
  g_small.before_fork_locks();
  g_node_heaps.before_fork_locks();
}

void Runtime::before_fork() {
  if (!have_heaps())
    return;
  if (fork_needs_locks()) {
    lock_streams(); // its holder allocates while it flushes streams
    modules_lock();
    limit_lock_.lock();
    mapped_.lock();
    g_small.lock_promotion();
    g_node_heaps.lock_promotion();
    big_.lock_all();
    g_small.lock_all();
    g_bitmap_heap.lock_all();
    g_node_heaps.lock_all();
    g_accounts.lock();
    ObjectPlacement::lock_nodes();
    forks_locked_ = true; // only now: another thread may fork at the same time
  }
  // A child gets no pages of a pool, only their contents (hugetlb.cpp).
  bool any = counters().pool_units[static_cast<unsigned>(PageKind::kGigantic)].get() ||
             counters().pool_units[static_cast<unsigned>(PageKind::kHugetlb)].get();
  forks_pool_pages_ = any && fork_gate_.prepare();
}

void Runtime::unlock_after_fork(bool in_child) {
  if (!forks_locked_)
    return;
  forks_locked_ = false;
  ObjectPlacement::unlock_nodes();
  g_accounts.unlock();
  g_node_heaps.unlock_all();
  g_bitmap_heap.unlock_all();
  g_small.unlock_all();
  big_.unlock_all();
  g_node_heaps.unlock_promotion();
  g_small.unlock_promotion();
  mapped_.unlock();
  limit_lock_.unlock();
  modules_unlock();
  unlock_streams(in_child);
}

void Runtime::after_fork() {
  g_small.fork_ended(/*in_child=*/false);
  agent_has_forked();
  // Under the locks: the pages being sent must stay.
  if (forks_pool_pages_) {
    fork_gate_.enter_parent();
    big_.for_each_pool_run(
        [](char *p, size_t n, void *gate) { return static_cast<ForkGate *>(gate)->send(p, n); },
        &fork_gate_);
    fork_gate_.close_both();
  }
  unlock_after_fork(/*in_child=*/false);
  promotion_thread_resume();
  note_fork(/*in_child=*/false);
}

void Runtime::after_fork_in_child() {
  process_ = getpid();
  agent_after_fork_in_child();
  // Another thread of the parent was starting the heaps. The child has no such thread, so the start
  // would never end. The child continues without the small heap.
  g_small.fork_ended(/*in_child=*/true);
  if (!t_small.starting) {
    HeapState seen = HeapState::kStarting;
    state_.compare_exchange_strong(seen, HeapState::kOff);
    g_small.forget_start();
  }
  if (!have_heaps())
    return;
  set_future_lock(FutureLock::kNone); // a child inherits no memory locks
  g_live.after_fork_in_child();       // first: the following calls count
  g_node_heaps.after_fork_in_child();
  joining_heap_.after_fork_in_child();
  g_small.main_pages().after_fork_in_child();
  if (!forks_locked_ && promotion_thread_is_inside()) {
    big_.unlock_promotion();
    g_small.unlock_promotion();
    g_node_heaps.unlock_promotion();
  }
  promotion_thread_forget();
  if (in_fork_child_)
    in_fork_child_();
  if (forks_pool_pages_) {
    fork_gate_.enter_child();
    bool all = big_.for_each_pool_run(
        [](char *p, size_t n, void *gate) { return static_cast<ForkGate *>(gate)->receive(p, n); },
        &fork_gate_);
    fork_gate_.close_both();
    if (!all) {
      warn("fork: no memory for the child's copy of hugetlb pages, or the parent is gone");
      abort();
    }
    big_.forget_pools();
  }
  note_fork(/*in_child=*/true);
  unlock_after_fork(/*in_child=*/true);
}

} // namespace smalloc
