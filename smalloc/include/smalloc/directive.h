/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * directive.h decides what begins a file of directives, how long its lines are, and when a directive is given up
 * and what a superpage at its site is worth (docs/directives.md), for all who read directives: the compiler, the allocator and the command.
 */
#ifndef SMALLOC_DIRECTIVE_H
#define SMALLOC_DIRECTIVE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SMALLOC_DIRECTIVES_HEADER "# smalloc.directives/1"
/* A directive that is longer, its comment included, makes no sense: a program that starts has no more memory for a line. */
#define SMALLOC_DIRECTIVE_MOST_BYTES 65535
/* So many inputs are told apart with which a program was slower; where there are more, it was slower. */
#define SMALLOC_DIRECTIVE_SLOWER_INPUTS 512

/* Version 12 is none of version 1: the header ends with the word. */
static inline int smalloc_is_directives(const char *text, size_t bytes) {
  const size_t header = sizeof SMALLOC_DIRECTIVES_HEADER - 1;
  return bytes >= header && memcmp(text, SMALLOC_DIRECTIVES_HEADER, header) == 0 &&
         (bytes == header || text[header] == ' ' || text[header] == '\t' || text[header] == '\r' ||
          text[header] == '\n');
}

/* Looked at in three runs or more, and it held in less than half of them: one bad run is an accident, and a site that pays
 * every second time still pays. Such a line is one for base pages. */
static inline int smalloc_directive_given_up(uint64_t held, uint64_t validated) {
  return validated >= 3 && held < validated - held;
}

#define SMALLOC_DIRECTIVE_MOST_WORTH                                                               \
  UINT32_MAX /* of a line without a PMB, which goes before all others */

/* What one superpage at a site is worth beside one at another site of the same file: thousandths of a percent of the
 * maximal benefit that 1,024 of its superpages give. 0 is left to sites of which no line speaks. */
static inline uint32_t smalloc_directive_worth(int has_pmb, uint64_t pmb_thousandths,
                                               uint64_t superpages) {
  const uint64_t most_pmb = SMALLOC_DIRECTIVE_MOST_WORTH / 1024 - 1;
  const uint64_t pmb = pmb_thousandths < most_pmb ? pmb_thousandths : most_pmb;
  const uint64_t worth = pmb * 1024 / (superpages ? superpages : 1);
  return !has_pmb ? SMALLOC_DIRECTIVE_MOST_WORTH : worth ? (uint32_t)worth : 1;
}

#endif
