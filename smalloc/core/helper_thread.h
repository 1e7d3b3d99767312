// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// helper_thread.h creates the helper thread, and makes it end. There are two kinds. A bare
// thread (bare_thread.h) serves a process for which the C library knows of one thread only, so that
// it goes on without locks. A known thread, from pthread_create, serves all others, and is needed
// where the helper calls the program's malloc.
#ifndef SMALLOC_CORE_HELPER_THREAD_H
#define SMALLOC_CORE_HELPER_THREAD_H

#include "smalloc/process/bare_thread.h"

namespace smalloc {

/// Starts `body` in a thread that has all signals blocked. `known`: not in a bare one. kBusy: the
/// former thread has not ended, or the process is changing its credentials. Where the kernel has no
/// thread it does not call pthread_create, after which glibc takes its locks also if it has failed.
/// Precondition: one caller at a time, and only after `body` has returned.
ThreadStart start_helper_thread(void (*body)(), bool known);
/// True if the last thread started is a bare one.
bool helper_is_bare();
/// Asks a bare helper to end, so that a known one can take its place.
void replace_bare_helper();
/// True if the calling helper must end soon.
bool helper_must_end();
/// Ends a bare helper before the process changes its credentials or namespaces, and lets none start
/// until allow_bare_helper(). The C library changes only the threads it knows. `wake` ends the
/// helper's pause. Waits for at most a second; a helper that works for longer ends after it. Keeps
/// errno.
void forbid_bare_helper(void (*wake)());
void allow_bare_helper();
/// Forgets the thread in the child of a fork, where it does not exist.
void forget_helper_thread();

} // namespace smalloc
#endif
