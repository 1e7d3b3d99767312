// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// own_stack.h decides where what needs much stack runs: jemalloc's start takes 11 KiB, loading libhugetlbfs as much, and the allocation that they come with
// may be made by a thread with the least stack that there is (16 KiB with all that is thread-local), by a coroutine, or on a signal
// handler's. Of the caller's stack no entry of ours uses more than 4 KiB.
#ifndef SMALLOC_OS_OWN_STACK_H
#define SMALLOC_OS_OWN_STACK_H

namespace smalloc {

/// Runs work(argument) on 256 KiB of its own, which are given back; where none are to be had, on the caller's. Some 10 us. The work must
/// come back: no exception, no longjmp out of it.
/// Signals are blocked meanwhile, unless the work may wait for others: handlers may look at the stack.
enum class Signals { kBlocked, kAllowed };
void on_own_stack(void (*work)(void *), void *argument, Signals signals);
template <class Work> void on_own_stack(Work work, Signals signals = Signals::kBlocked) {
  on_own_stack([](void *it) { (*static_cast<Work *>(it))(); }, &work, signals);
}

} // namespace smalloc
#endif
