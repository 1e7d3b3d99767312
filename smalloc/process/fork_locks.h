// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fork_locks.h decides when locks are held across fork: only in a process with several threads.
// Like glibc: with one thread nobody else can hold a lock, and a signal handler that forks while it
// interrupts an allocation must not wait for the lock that its own thread holds (glibc's
// tst-mallocfork2). stdio's list of streams is locked first, because a thread that flushes its
// streams holds it while it allocates (glibc's tst-malloc-fork-deadlock).
#ifndef SMALLOC_PROCESS_FORK_LOCKS_H
#define SMALLOC_PROCESS_FORK_LOCKS_H

namespace smalloc {

/// True if the process has several threads of its own. A thread of libsmalloc beside one of the
/// program's does not count (set_alone_with_helper()).
bool fork_needs_locks();
/// `alone` returns true if the calling thread has no other beside it than a helper of libsmalloc, which
/// then does nothing until the fork is over.
void set_alone_with_helper(bool (*alone)());
/// Makes room among the process' fork handlers for what lock_at_fork() will register. Others that register later run theirs while none
/// of our locks is held: their prepare handlers before ours, the others after (a library that takes its own lock there, or allocates).
/// So the earlier the better. Once; any thread.
void reserve_fork_handlers();
/// Where it is defined: registers handlers whose prepare is to run after all that lock_at_fork() registers. Called once, before room is
/// made for these, whoever comes first: in a static program that is the base allocator, before any constructor.
void register_before_fork_locks() __attribute__((weak));
/// stdio's list of streams: locked before any lock that an allocation takes. Recursive. The child's starts anew.
void lock_streams();
void unlock_streams(bool in_child);
/// As pthread_atfork, for lock-taking handlers: prepare runs in reverse order of registration.
/// Returns 0, or ENOMEM when there is no room. At most kMostForkLocks registrations.
int lock_at_fork(void (*prepare)(), void (*parent)(), void (*child)());
inline constexpr unsigned kMostForkLocks = 4;

} // namespace smalloc
#endif
