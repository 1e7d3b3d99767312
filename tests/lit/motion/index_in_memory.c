// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: an index that the loop loads at an address that does not move moves all the same if the loop writes it
// there: by a call that is handed its address, by a call that may write a global, by input, by a store. A counter in memory walks; a
// length of rows and bytes that alias everything leave what is loaded as it is.
// RUN: %remarks -fplugin-arg-smalloc-first-touch=off %s 2>&1 | FileCheck %s
// CHECK-DAG: superpages{{.*}} in 'by_callee': picked at random through computed indices
// CHECK-DAG: superpages{{.*}} in 'by_global': picked at random through computed indices
// CHECK-DAG: superpages{{.*}} in 'by_input': picked at random through computed indices
// CHECK-DAG: superpages{{.*}} in 'by_structure': picked at random through computed indices
// CHECK-DAG: superpages{{.*}} in 'by_store': picked at random through computed indices
// CHECK-DAG: base pages: malloc of n*8 bytes in 'counter': streamed
// CHECK-DAG: base pages: malloc of n*8 bytes in 'row_length': streamed
// CHECK-DAG: base pages: malloc of n*8 bytes in 'byte_stores': its address does not move
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
void mix(uint64_t key, uint64_t *out);
struct state {
  uint64_t a, b;
};
void next(struct state *s);
void next_global(void);
extern uint64_t global;
uint64_t by_callee(size_t n, size_t m) {
  uint64_t *t = malloc(n * 8), s = 0;
  for (size_t i = 0; i < m; i++) {
    uint64_t out[2];
    mix(i, out);
    s += t[out[0] % n]++;
  }
  free(t);
  return s;
}
uint64_t by_global(size_t n, size_t m) {
  uint64_t *t = malloc(n * 8), s = 0;
  for (size_t i = 0; i < m; i++) {
    next_global();
    s += t[(global >> 33) % n]++;
  }
  free(t);
  return s;
}
uint64_t by_input(size_t n, FILE *file) {
  uint64_t *t = malloc(n * 8), s = 0;
  unsigned k;
  while (fread(&k, 4, 1, file) == 1)
    s += t[k % n]++;
  free(t);
  return s;
}
uint64_t by_structure(size_t n, size_t m) {
  uint64_t *t = malloc(n * 8), s = 0;
  struct state x = {1, 2};
  for (size_t i = 0; i < m; i++) {
    next(&x);
    s += t[x.b % n]++;
  }
  free(t);
  return s;
}
uint64_t by_store(size_t n, size_t m, volatile uint64_t *seed) {
  uint64_t *t = malloc(n * 8), s = 0;
  for (size_t i = 0; i < m; i++) {
    s += t[*seed % n]++;
    *seed = *seed * 6364136223846793005u + 1;
  }
  free(t);
  return s;
}
uint64_t counter(size_t n, volatile size_t *at) {
  uint64_t *t = malloc(n * 8), s = 0;
  while (*at < n) {
    s += t[*at]++;
    *at = *at + 1;
  }
  free(t);
  return s;
}
struct matrix {
  size_t rows, columns;
};
void report(struct matrix *);
uint64_t row_length(size_t n, size_t m, struct matrix *shape) {
  uint64_t *t = malloc(n * 8), s = 0;
  for (size_t i = 0; i < shape->rows; i++) {
    for (size_t j = 0; j < m; j++)
      s += t[i * shape->columns + j]++;
    report(shape);
  }
  free(t);
  return s;
}
uint64_t byte_stores(size_t n, size_t m, size_t *at, char *bytes) {
  uint64_t *t = malloc(n * 8), s = 0;
  for (size_t i = 0; i < m; i++) {
    bytes[i] = i;
    s += t[*at]++;
  }
  free(t);
  return s;
}
