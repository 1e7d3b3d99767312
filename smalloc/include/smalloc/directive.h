/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * directive.h decides when a directive is given up (docs/directives.md), for all who read directives: the compiler, the
 * allocator and the command.
 */
#ifndef SMALLOC_DIRECTIVE_H
#define SMALLOC_DIRECTIVE_H

#include <stdint.h>

/* Looked at in three runs or more, and it held in less than half of them: one bad run is an accident, and a site that pays
 * every second time still pays. Such a line is one for base pages. */
static inline int smalloc_directive_given_up(uint64_t held, uint64_t validated) {
  return validated >= 3 && held < validated - held;
}

#endif
