// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A hash join: both columns, the buckets and the chains are filled in order, then probed in any
// order.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct ent {
  uint64_t key;
  uint64_t val;
};
struct table {
  struct ent *e;
  size_t cap, mask, n;
};
static uint64_t h(uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdull;
  x ^= x >> 33;
  return x;
}
static struct table *make(size_t want) {
  struct table *t = malloc(sizeof *t);
  size_t c = 16;
  while (c < want * 2)
    c *= 2;
  t->cap = c;
  t->mask = c - 1;
  t->n = 0;
  t->e = calloc(c, sizeof(struct ent));
  return t;
}
static void put(struct table *t, uint64_t k, uint64_t v) {
  size_t i = h(k) & t->mask;
  while (t->e[i].key) {
    i = (i + 1) & t->mask;
  }
  t->e[i].key = k;
  t->e[i].val = v;
  t->n++;
}
static uint64_t get(struct table *t, uint64_t k) {
  size_t i = h(k) & t->mask;
  while (t->e[i].key) {
    if (t->e[i].key == k)
      return t->e[i].val;
    i = (i + 1) & t->mask;
  }
  return 0;
}
int main(int c, char **v) {
  size_t n = c > 1 ? atol(v[1]) : 6000000;
  uint64_t *r = malloc(n * 8), *q = malloc(n * 8);
  uint64_t s = 1;
  for (size_t i = 0; i < n; i++) {
    s = s * 6364136223846793005ull + 1442695040888963407ull;
    r[i] = (s >> 20) | 1;
  }
  for (size_t i = 0; i < n; i++) {
    s = s * 6364136223846793005ull + 1442695040888963407ull;
    q[i] = (s & 1) ? r[s % n] : s | 1;
  }
  struct table *t = make(n);
  for (size_t i = 0; i < n; i++)
    put(t, r[i], i + 1);
  uint64_t sum = 0;
  for (int k = 0; k < 3; k++)
    for (size_t i = 0; i < n; i++)
      sum += get(t, q[i]);
  printf("%lu\n", sum);
}
