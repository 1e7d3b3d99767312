// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// bare_thread.h runs libsmalloc's helper on a thread that the C library does not know. After the
// first pthread_create of a process glibc takes its locks: getc and putc then cost 18 ns instead of
// 3, copying a std::shared_ptr 17 ns instead of 1 (glibc 2.36). A program without threads of its
// own must not pay that for the allocator.
//
// The thread is a thread for the kernel only. It has its own stack and thread-local storage. It may
// run libsmalloc's code and what that calls of the C library. It must not call code that waits for
// it by pthread functions, streams (FILE) or the dynamic linker.
#ifndef SMALLOC_PROCESS_BARE_THREAD_H
#define SMALLOC_PROCESS_BARE_THREAD_H

namespace smalloc {

/// Starts `body` on the thread, with all signals blocked. False: none can be had here, or its
/// former run has not ended; then the caller uses pthread_create. Unknown to the C library, the
/// thread keeps its credentials if the program changes its own: see bare_thread_has_ended().
/// Precondition: one caller at a time.
bool start_bare_thread(void (*body)());
/// True if no bare thread of this process runs. After a change of credentials by setuid and the
/// like a running one would still have the former ones, so libsmalloc ends it before.
bool bare_thread_has_ended();
/// Waits until the thread has ended, for at most `ns`. True: it has.
bool wait_for_bare_thread(long ns);
/// Clears the record in the child of a fork, where the thread does not exist.
void forget_bare_thread();

} // namespace smalloc
#endif
