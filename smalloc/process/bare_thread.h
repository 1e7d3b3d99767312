// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// bare_thread.h runs libsmalloc's helper on a thread that the C library does not know. After the
// first pthread_create of a process glibc takes its locks: getc and putc then cost 18 ns instead of
// 3, copying a std::shared_ptr 17 ns instead of 1 (glibc 2.36). A program without threads of its
// own must not pay that for the allocator.
//
// The thread is a thread for the kernel only. It has its own stack and thread-local storage, which
// its next run uses again, so libsmalloc's and jemalloc's states in it stay valid. While the C
// library knows of one thread only, its locks are not atomic. So the thread must not call what
// takes one of them: malloc, mutexes, streams (FILE), the dynamic linker.
#ifndef SMALLOC_PROCESS_BARE_THREAD_H
#define SMALLOC_PROCESS_BARE_THREAD_H

namespace smalloc {

enum class ThreadStart : unsigned char {
  kStarted,
  kBusy,    ///< its former run has not ended yet
  kRefused, ///< this process can have none of this kind
  kFailed,  ///< the kernel has no thread, or no memory, for it
};

/// Starts `body` on the thread. The caller has blocked all signals. The C library does not change
/// the thread's credentials when the program changes its own. Precondition: one caller at a time.
ThreadStart start_bare_thread(void (*body)());
/// True if the calling thread is the bare one.
bool is_bare_thread();
/// True if no bare thread of this process runs.
bool bare_thread_has_ended();
/// Waits until the thread has ended, for at most `ns` nanoseconds. Returns true if it has ended.
bool wait_for_bare_thread(long ns);
/// Forgets the thread in the child of a fork, where it does not exist. A bare thread of the child
/// gets new storage, because jemalloc's lists may still lead to the old one.
void forget_bare_thread();

} // namespace smalloc
#endif
