// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// own_stack.h runs work that needs much stack on a stack of its own. jemalloc's start takes 11 KiB,
// and loading libhugetlbfs as much. The allocation that triggers them may come from a thread with
// the least possible stack (16 KiB including its thread-local data), from a coroutine, or from a
// signal handler's stack. libsmalloc's entry points use at most 4 KiB of the caller's stack.
#ifndef SMALLOC_OS_OWN_STACK_H
#define SMALLOC_OS_OWN_STACK_H

namespace smalloc {

/// Whether the thread may receive signals while the work runs. They are blocked, because a signal
/// handler may inspect the stack, unless the work may wait for other threads or processes.
enum class Signals { kBlocked, kAllowed };
/// Runs work(argument) on 256 KiB of stack that it maps and unmaps, or on the caller's stack if it
/// cannot map any. Cost: about 10 us. The work must return: no exception and no longjmp may leave
/// it.
void on_own_stack(void (*work)(void *), void *argument, Signals signals);
template <class Work> void on_own_stack(Work work, Signals signals = Signals::kBlocked) {
  on_own_stack([](void *it) { (*static_cast<Work *>(it))(); }, &work, signals);
}

} // namespace smalloc
#endif
