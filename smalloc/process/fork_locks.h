// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fork_locks.h holds libsmalloc's locks across fork, but only in a process with several threads.
// glibc's malloc does the same. With one thread no other thread can hold a lock. A signal handler
// that interrupts an allocation and forks must not wait for the lock that its own thread holds
// (glibc's tst-mallocfork2). stdio's list of streams is locked first: a thread that flushes its
// streams holds it while it allocates (glibc's tst-malloc-fork-deadlock).
#ifndef SMALLOC_PROCESS_FORK_LOCKS_H
#define SMALLOC_PROCESS_FORK_LOCKS_H

namespace smalloc {

/// True if the C library has known of several threads of the process.
bool has_had_threads();
/// For fork handlers: true if the process has several threads of its own. A helper thread of
/// libsmalloc beside one thread of the program does not count (set_alone_with_helper()); it does
/// nothing until the fork is over.
bool fork_needs_locks();
/// Registers `alone`, which returns true if the calling thread's only other thread is a helper of
/// libsmalloc. The helper then does nothing until the fork is over. `one_known`: the C library
/// knows of one thread only; the helper may be a thread that it does not know (bare_thread.h).
void set_alone_with_helper(bool (*alone)(bool one_known));
/// Registers pthread_atfork handlers in advance for the locks that lock_at_fork() will add.
/// Handlers that other code registers later run while libsmalloc's locks are free: their prepare
/// handlers run before libsmalloc's, the others after. (A library may take its own lock there, or
/// allocate.) So call it as early as possible. Works once; any thread.
void reserve_fork_handlers();
/// Registers handlers whose prepare must run after all those of lock_at_fork(). Optional.
/// reserve_fork_handlers() calls it once, before it registers its own. core/runtime_fork.cpp
/// defines it.
void register_before_fork_locks() __attribute__((weak));
/// Locks stdio's list of streams, before any lock that an allocation takes. The lock is recursive.
void lock_streams();
/// Unlocks the list in the parent, or resets it in the child.
void unlock_streams(bool in_child);
/// Registers handlers that take locks, as pthread_atfork does: prepare handlers run in reverse
/// order of registration. At most kMostForkLocks registrations. Returns 0, or ENOMEM if there is no
/// room.
int lock_at_fork(void (*prepare)(), void (*parent)(), void (*child)());
inline constexpr unsigned kMostForkLocks = 4;

} // namespace smalloc
#endif
