// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a size that is rounded up to an alignment, has another value for an empty
// object, or is requested by reallocarray of null is still the size that the program fills.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK-DAG: superpages {{.*}} every byte is written: posix_memalign of n*8 bytes in 'masked'
// CHECK-DAG: superpages {{.*}} every byte is written: aligned_alloc of n*8 bytes in 'divided'
// CHECK-DAG: superpages {{.*}} every byte is written: reallocarray of n*8 bytes in 'array'
// CHECK-DAG: superpages {{.*}} every byte is written: posix_memalign of n*8 bytes in 'empty'
// CHECK-DAG: superpages {{.*}} every byte is written: malloc of n bytes in 'pages'
// CHECK-DAG: undecided: reallocarray of n*8 bytes in 'grown'
// CHECK-DAG: undecided: posix_memalign of {{.*}} in 'half'
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
void use(void *);
void masked(size_t n) {
  void *block = NULL;
  if (posix_memalign(&block, 64, (n * 8 + 63) & ~(size_t)63))
    return;
  double *p = block;
  for (size_t i = 0; i < n; i++)
    p[i] = i;
  use(p);
}
void divided(size_t n) {
  double *p = aligned_alloc(64, (n * 8 + 63) / 64 * 64);
  if (!p)
    return;
  memset(p, 0, n * 8);
  use(p);
}
void array(size_t n) {
  double *p = reallocarray(NULL, n, 8);
  for (size_t i = 0; i < n; i++)
    p[i] = i;
  use(p);
}
void grown(double *p, size_t n) {
  p = reallocarray(p, n, 8);
  for (size_t i = 0; i < n; i++)
    p[i] = i;
  use(p);
}
void empty(size_t n) {
  void *p;
  if (posix_memalign(&p, 64, n ? n * 8 : 64))
    return;
  memset(p, 0, n * 8);
  use(p);
}
void pages(size_t n) {
  char *p = malloc((n + 4095) & -4096ul);
  memset(p, 0, n);
  use(p);
}
void half(size_t n) {
  void *p;
  if (posix_memalign(&p, 64, (n * 8 + 63) & ~(size_t)63))
    return;
  memset(p, 0, n * 4);
  use(p);
}
