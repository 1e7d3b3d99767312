// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// main_stack.h decides how the main thread's stack is made as long as it may become, before a page
// of it is used: the kernel lengthens it at the first touch below, a little at a time, and so never
// has room for a superpage in it.
#ifndef SMALLOC_PROCESS_MAIN_STACK_H
#define SMALLOC_PROCESS_MAIN_STACK_H

#include <stddef.h>

namespace smalloc {

struct StackRange {
  char *start = nullptr, *end = nullptr; ///< mapped, below all that is in use; nullptr: none
  size_t refused_bytes = 0;              ///< by another limit of memory than the stack's
};

/// Lengthens the stack of the thread that calls to what RLIMIT_STACK allows, `most_bytes` at most,
/// by touching one page. Nothing on another thread than the main one, whose stack has its size.
StackRange lengthen_main_stack(size_t most_bytes);

} // namespace smalloc
#endif
