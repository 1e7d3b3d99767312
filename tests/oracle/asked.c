/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * asked.c: records, in a program compiled with the plugin, which sites request superpages at the
 * real sizes. It replaces libsmalloc: each entry writes the line of a site that requests, and
 * returns null, so that the program's own malloc serves. */
#include <smalloc/site.h>

#include <stdio.h>
#include <stdlib.h>

static void asked(size_t bytes, struct smalloc_cell *cell) {
  const struct smalloc_site *site = (const void *)((const char *)cell + cell->site_offset);
  const char *name = getenv("ORACLE_ASKED");
  if (SMALLOC_WORD_FLAGS(cell->word) & SMALLOC_SITE_SMALL) /* all of its objects count together */
    bytes = cell->requested_bytes += bytes;
  if (SMALLOC_WORD_DECISION(cell->word) == SMALLOC_DECISION_RUNTIME &&
      bytes < 4096 * SMALLOC_WORD_MIN_PAGES(cell->word))
    return;
  FILE *out = name ? fopen(name, "a") : NULL;
  if (!out || fprintf(out, "%u\n", site->line) < 0 || fclose(out) != 0)
    abort();
}

void *__smalloc_v1_malloc(size_t bytes, struct smalloc_cell *cell) {
  asked(bytes, cell);
  return NULL;
}

void *__smalloc_v1_calloc(size_t count, size_t bytes, struct smalloc_cell *cell) {
  asked(count * bytes, cell);
  return NULL;
}

void *__smalloc_v1_realloc(void *p, size_t bytes, struct smalloc_cell *cell) {
  (void)p;
  asked(bytes, cell);
  return NULL;
}
