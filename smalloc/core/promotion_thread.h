// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// promotion_thread.h starts and stops the helper thread. The thread gives superpages ahead of a
// fill, promotes waiting units as time passes, and gives unused memory back that was kept. A second
// thread has costs: the kernel refuses some system calls to processes with threads. So libsmalloc
// starts the thread only with enough of such memory (Runtime::wake_helper()) or with
// promote:thread.
#ifndef SMALLOC_CORE_PROMOTION_THREAD_H
#define SMALLOC_CORE_PROMOTION_THREAD_H

namespace smalloc {

/// Work of the thread. It calls each function, which takes its own locks.
struct PromotionWork {
  bool (*watches_fills)();          ///< true if an object waits to be filled
  unsigned (*look_ahead)(bool all); ///< returns by how many sixteenths of a unit objects have grown
  void (*promote_by_time)();
  /// Gives unused memory back that was kept for long enough. True: some is still kept, or may be.
  bool (*give_back)();
  bool (*keeps)(); ///< true if unused memory is kept; takes no lock
};
/// True while the thread runs, or starts.
bool promotion_thread_runs();
/// Starts the thread unless it runs or could not be created. It looks at most 50 times a second,
/// less often while the program sleeps, and more often while an object is being filled. It ends
/// when nothing has been pending or kept for a second, or when the program's threads have ended.
/// All signals are blocked in it. `calls_malloc`: the work calls the program's malloc, which a bare
/// thread must not (helper_thread.h). Callable from any thread; keeps errno. `work` must stay
/// valid.
void promotion_thread_wake(const PromotionWork &work, bool calls_malloc);
/// Ends the thread's present pause, if it runs: it should see the fill of a new object from the
/// beginning. Callable from any thread; keeps errno. Costs one system call while the thread sleeps,
/// none otherwise.
void promotion_thread_hurry();
/// Pauses the thread before a fork. True if the process has no thread beside the caller and this
/// one. Then no look begins until promotion_thread_resume(). It waits until a running look has
/// ended, for a second at most: a look may wait for a lock that the forking thread itself holds (a
/// signal handler that forks). `one_known`: the C library knows one thread. Otherwise it reads
/// /proc.
bool promotion_thread_pauses_for_fork(bool one_known);
/// Ends the thread before the process changes its credentials, and lets none start until
/// promotion_thread_allow(). The C library changes those of the threads it knows; a bare thread is
/// none of them (bare_thread.h). Waits for a running look, at most for a second. Keeps errno.
void promotion_thread_forbid();
void promotion_thread_allow();
/// True while a fork has paused the thread.
bool promotion_thread_is_paused();
/// True while the helper thread is inside a look. A child forked then inherits the locks that the
/// look holds, and no thread in the child releases them.
bool promotion_thread_is_inside();
void promotion_thread_resume();
/// Clears the thread's state in the child of a fork, where it does not exist.
void promotion_thread_forget();

} // namespace smalloc
#endif
