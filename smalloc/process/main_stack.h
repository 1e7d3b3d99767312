// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// main_stack.h grows the main thread's stack to its full length before the program uses it. The
// kernel grows a stack at the first touch below it, a little at a time. Without this call the stack
// never has room for a superpage.
#ifndef SMALLOC_PROCESS_MAIN_STACK_H
#define SMALLOC_PROCESS_MAIN_STACK_H

#include <stddef.h>

namespace smalloc {

struct StackRange {
  char *start = nullptr, *end = nullptr; ///< mapped range below all that is in use; nullptr: none
  size_t refused_bytes = 0; ///< bytes that a limit of memory other than RLIMIT_STACK refused
};

/// Grows the calling thread's stack to RLIMIT_STACK, at most `most_bytes`, by touching one page.
/// Works on the main thread only; the stacks of other threads have a fixed size.
StackRange lengthen_main_stack(size_t most_bytes);

} // namespace smalloc
#endif
