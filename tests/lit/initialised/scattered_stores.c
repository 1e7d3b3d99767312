// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: stores at random places all over an object fill it, if there are four for each page: they leave one page
// of fifty untouched. Fewer of them, stores under a condition, or in a part of the object do not.
// The IR of older versions does not show that the loop ends where the object does.
// REQUIRES: llvm-22
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK-DAG: at the first touch since every byte is written: malloc of n*8 bytes in 'table'
// CHECK-DAG: at the first touch since every byte is written: malloc of 134217728 bytes in 'constant'
// CHECK-DAG: at the first touch since every byte is written: calloc of {{.*}} bytes in 'probed'
// CHECK-DAG: superpages{{( from .* on)?}}: malloc of n*8 bytes in 'too_few'
// CHECK-DAG: superpages{{( from .* on)?}}: malloc of n*8 bytes in 'half'
// CHECK-DAG: superpages{{( from .* on)?}}: malloc of n*8 bytes in 'conditional'
#include <stdint.h>
#include <stdlib.h>
#define NEXT(x) (x = x * 6364136223846793005ull + 1442695040888963407ull)
uint64_t *table(size_t n) {
  uint64_t *t = malloc(n * 8), x = 1;
  for (size_t i = 0; i < n; i++)
    t[(NEXT(x) >> 20) % n] = i;
  return t;
}
uint64_t *constant(void) {
  uint64_t *t = malloc(1 << 27), x = 1;
  for (size_t i = 0; i < 1 << 18; i++)
    t[(NEXT(x) >> 20) & ((1 << 24) - 1)] = i;
  return t;
}
struct slot {
  uint64_t key, value;
};
struct slot *probed(size_t n) {
  struct slot *t = calloc(n, sizeof *t);
  uint64_t x = 1;
  for (size_t i = 0; i < n / 2; i++) {
    size_t at = (NEXT(x) >> 20) & (n - 1);
    while (t[at].key)
      at = (at + 1) & (n - 1);
    t[at].key = x;
    t[at].value = i;
  }
  return t;
}
uint64_t *too_few(size_t n) {
  uint64_t *t = malloc(n * 8), x = 1;
  for (size_t i = 0; i < n / 256; i++)
    t[(NEXT(x) >> 20) % n] = i;
  return t;
}
uint64_t *half(size_t n) {
  uint64_t *t = malloc(n * 8), x = 1;
  for (size_t i = 0; i < n; i++)
    t[(NEXT(x) >> 20) % (n / 2)] = i;
  return t;
}
uint64_t *conditional(size_t n, const char *wanted) {
  uint64_t *t = malloc(n * 8), x = 1;
  for (size_t i = 0; i < n; i++) {
    NEXT(x);
    if (wanted[i])
      t[(x >> 20) % n] = i;
  }
  return t;
}
