#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# realloc of small objects keeps every byte, from each size class to each other, in a slab or not.
# Within a class the object does not move. The same for objects of another thread. Freed slots are
# reusable: repeated resizing takes no more memory.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
build t <<'END'
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define CHECK(x) do { if (!(x)) { fprintf(stderr, "line %d: %s (%zu to %zu)\n", __LINE__, #x, from, to); abort(); } } while (0)
enum { kMost = 40000, kObjects = 3000 };
static size_t sizes[64], count, from, to;
static unsigned char value(size_t i, unsigned key) { return (unsigned char)(i * 7 + (i >> 8) + key); }
static void fill(unsigned char *p, size_t n, unsigned key) { for (size_t i = 0; i < n; i++) p[i] = value(i, key); }
static int holds(const unsigned char *p, size_t n, unsigned key) {
  for (size_t i = 0; i < n; i++)
    if (p[i] != value(i, key)) return 0;
  return 1;
}
static unsigned char *made[kObjects];
static size_t made_bytes[kObjects];
static void *resize_others(void *unused) {
  for (unsigned i = 0; i < kObjects; i++) {
    from = made_bytes[i];
    to = sizes[(i * 5 + 3) % count];
    made[i] = realloc(made[i], to);
    CHECK(made[i] && holds(made[i], from < to ? from : to, i));
    fill(made[i], to, i + 1);
  }
  return unused;
}
int main(void) {
  for (size_t n = 1; n <= kMost;) { /* the largest size of every class */
    void *p = malloc(n);
    size_t usable = malloc_usable_size(p);
    free(p);
    sizes[count++] = usable;
    n = usable + 1;
  }
  for (size_t a = 0; a < count; a++)
    for (size_t b = 0; b < count; b++)
      for (size_t less = 0; less < 2; less++) {
        from = sizes[a] - less, to = sizes[b] - less;
        unsigned char *beside = malloc(to), *p = malloc(from);
        fill(p, from, 1);
        memset(beside, 99, to);
        unsigned char *q = realloc(p, to);
        CHECK(q && malloc_usable_size(q) >= to && (uintptr_t)q % 16 == 0);
        CHECK(holds(q, from < to ? from : to, 1));
        CHECK(a != b || q == p);
        fill(q, to, 2);
        for (size_t i = 0; i < to; i++) CHECK(beside[i] == 99);
        free(beside);
        CHECK(holds(q, to, 2));
        free(q);
      }
  size_t before = 0;
  for (unsigned round = 0; round < 40; round++) {
    for (unsigned i = 0; i < kObjects; i++)
      made[i] = realloc(made[i], sizes[(i * 11 + round * 7) % 40]); /* up to 16 KiB */
    if (round == 19) before = mallinfo2().arena;
  }
  from = before, to = mallinfo2().arena;
  CHECK(to <= before + before / 16);
  for (unsigned i = 0; i < kObjects; i++) free(made[i]);
  for (unsigned i = 0; i < kObjects; i++) {
    made_bytes[i] = sizes[i % count];
    fill(made[i] = malloc(made_bytes[i]), made_bytes[i], i);
  }
  pthread_t t;
  pthread_create(&t, NULL, resize_others, NULL);
  pthread_join(t, NULL);
  for (unsigned i = 0; i < kObjects; i++) {
    to = sizes[(i * 5 + 3) % count];
    CHECK(holds(made[i], to, i + 1));
    free(made[i]);
  }
  puts("done");
  return 0;
}
END
export SMALLOC_CONF=heap:superpage
LD_PRELOAD=$PRELOAD expect_status 0 ./t
expect_match out '^done$'
LD_PRELOAD=$PRELOAD SMALLOC_CONF=heap:superpage,debug:on expect_status 0 ./t # debug:on checks every free and resize
expect_match out '^done$'
