// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// promotion_thread.h starts and stops the helper thread. It lives while something waits for promotion
// and gives superpages ahead of a fill (heap:auto), or promotes by time (promoter:thread). A process
// may not want a second thread: some system calls are refused to processes with threads, and glibc
// takes its locks then. So heap:auto starts it only beside 32 MiB of big objects.
#ifndef SMALLOC_CORE_PROMOTION_THREAD_H
#define SMALLOC_CORE_PROMOTION_THREAD_H

namespace smalloc {

/// What the thread does. Each is called on the helper thread and takes its own locks.
struct PromotionWork {
  bool (*watches_fills)();          ///< true if an object waits to be filled
  unsigned (*look_ahead)(bool all); ///< returns by how many sixteenths of a unit objects have grown
  void (*promote_by_time)();
};
/// Starts the thread unless it runs, or could not be had. It looks 50 times a second, more often while
/// an object is being filled, and ends when nothing has been pending for a second, or when the
/// program's threads have ended. All signals are blocked in it. Any thread; keeps errno. `work` stays.
void promotion_thread_wake(const PromotionWork &work);
/// An object was born whose fill the thread is to see from its beginning: ends the thread's present pause,
/// if it runs. Any thread; keeps errno. One system call while the thread sleeps, none otherwise.
void promotion_thread_hurry();
/// Before a fork: true if the process has no further thread than the caller and this one. No look
/// begins then until promotion_thread_resume(), and one that is going on has ended, unless it waits for
/// a lock that the forking thread itself holds (a signal handler that forks). Reads /proc.
bool promotion_thread_pauses_for_fork();
/// Somebody forks, and waits for the end of a look.
bool promotion_thread_is_paused();
/// True while the promotion thread itself is inside a look. A child forked then inherits the locks
/// that the look holds, and no thread in the child releases them.
bool promotion_thread_is_inside();
void promotion_thread_resume();
/// In the child of a fork the thread is gone.
void promotion_thread_forget();

} // namespace smalloc
#endif
