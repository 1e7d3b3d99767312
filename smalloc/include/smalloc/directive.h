/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * directive.h defines for all readers of directives (the compiler, the allocator and the command)
 * the first line of a file of directives and the longest line. It also computes when a directive is
 * dropped and the worth of a superpage at its site (docs/reference.md).
 */
#ifndef SMALLOC_DIRECTIVE_H
#define SMALLOC_DIRECTIVE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SMALLOC_DIRECTIVES_HEADER "# smalloc.directives/1"
/* Longest line, with its comment; a longer one is invalid. A program's start has no more memory
 * for a line. */
#define SMALLOC_DIRECTIVE_MOST_BYTES 65535
/* Most inputs recorded with which a program was slower. With more, the program counts as slower
 * with any input. */
#define SMALLOC_DIRECTIVE_SLOWER_INPUTS 512

/* True if `text` begins with the header as a whole word: version 12 is not version 1. */
static inline int smalloc_is_directives(const char *text, size_t bytes) {
  const size_t header = sizeof SMALLOC_DIRECTIVES_HEADER - 1;
  return bytes >= header && memcmp(text, SMALLOC_DIRECTIVES_HEADER, header) == 0 &&
         (bytes == header || text[header] == ' ' || text[header] == '\t' || text[header] == '\r' ||
          text[header] == '\n');
}

/* True if a directive is dropped: it was validated in three runs or more and held in less than
 * half of them. One bad run is an accident, and a site that pays every second time still pays. A
 * dropped line counts as one for base pages. */
static inline int smalloc_directive_given_up(uint64_t held, uint64_t validated) {
  return validated >= 3 && held < validated - held;
}

/* Worth of a line without a PMB, which precedes all others. */
#define SMALLOC_DIRECTIVE_MOST_WORTH UINT32_MAX

/* Returns the worth of one superpage at a site, to compare sites of the same file: thousandths
 * of a percent of the maximal benefit that 1,024 of its superpages give. 0 is reserved for sites
 * without a line. */
static inline uint32_t smalloc_directive_worth(int has_pmb, uint64_t pmb_thousandths,
                                               uint64_t superpages) {
  const uint64_t most_pmb = SMALLOC_DIRECTIVE_MOST_WORTH / 1024 - 1;
  const uint64_t pmb = pmb_thousandths < most_pmb ? pmb_thousandths : most_pmb;
  const uint64_t worth = pmb * 1024 / (superpages ? superpages : 1);
  return !has_pmb ? SMALLOC_DIRECTIVE_MOST_WORTH : worth ? (uint32_t)worth : 1;
}

#endif
