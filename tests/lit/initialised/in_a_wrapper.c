// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: what xmalloc returned is filled by its caller, behind a header or not; each call for itself.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK-DAG: superpages from {{.*}} on, at the first touch since every byte is written: xmalloc of n*8 bytes in 'whole'
// CHECK-DAG: superpages from {{.*}} on: xmalloc of n*8 bytes in 'half'
#include <stdlib.h>
static __attribute__((noinline)) void *xmalloc(size_t n) {
  char *p = malloc(n + 16);
  if (!p)
    abort();
  return p + 16;
}
double whole(const int *pick, long n) {
  double *a = xmalloc(n * sizeof *a), s = 0;
  for (long i = 0; i < n; i++)
    a[i] = i;
  for (long i = 0; i < n; i++)
    s += a[pick[i]];
  return s;
}
double half(const int *pick, long n) {
  double *a = xmalloc(n * sizeof *a), s = 0;
  for (long i = 0; i < n / 2; i++)
    a[i] = i;
  for (long i = 0; i < n; i++)
    s += a[pick[i]];
  return s;
}
