// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// own_stack.h decides where what needs much stack runs: jemalloc's start takes 11 KiB, and the allocation that it comes with may be made by
// a thread with the least stack that there is (16 KiB with all that is thread-local) or on a signal handler's.
#ifndef SMALLOC_OS_OWN_STACK_H
#define SMALLOC_OS_OWN_STACK_H

namespace smalloc {

/// Runs work(argument) on 64 KiB of its own, which are given back; where none are to be had, on the caller's. Some 10 us. The work must
/// come back: no exception, no longjmp out of it.
void on_own_stack(void (*work)(void *), void *argument);

} // namespace smalloc
#endif
