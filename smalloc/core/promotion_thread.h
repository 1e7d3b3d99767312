// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// promotion_thread.h decides who looks for promotions in a program that has no promotion points and
// may stop calling the allocator: a thread that lives while something waits for promotion. Only
// where it was asked for (promoter:thread, which `smalloc run` sets), because a process may not want
// a second thread: some system calls are refused to processes with threads, and glibc takes its
// locks then.
#ifndef SMALLOC_CORE_PROMOTION_THREAD_H
#define SMALLOC_CORE_PROMOTION_THREAD_H

namespace smalloc {

/// Starts the thread unless it runs, or could not be had. It looks 50 times a second, spends at most
/// 1 % of the time that passes (Runtime::promote_by_time), and ends when nothing has been pending
/// for a second. All signals are blocked in it. Any thread; keeps errno.
void promotion_thread_wake();
/// In the child of a fork the thread is gone.
void promotion_thread_forget();

} // namespace smalloc
#endif
