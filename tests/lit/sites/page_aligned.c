// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: the allocation functions that only C libraries have are sites, decided as malloc's.
// RUN: %remarks -D_GNU_SOURCE %s 2>&1 | FileCheck %s
#include <malloc.h>
#include <stdlib.h>
void fill(double *);
#define PICKED(NAME, CALL) double NAME(const int *at, long n) { double *p = CALL, s = 0; fill(p); for (int t = 0; t < 9; t++) for (long i = 0; i < n; i++) s += p[at[i]]; free(p); return s; }
// CHECK-DAG: superpages from {{.*}}: memalign of {{.*}} in 'by_memalign': picked at random
PICKED(by_memalign, memalign(4096, n * 8))
// CHECK-DAG: superpages from {{.*}}: valloc of {{.*}} in 'by_valloc': picked at random
PICKED(by_valloc, valloc(n * 8))
// CHECK-DAG: superpages from {{.*}}: pvalloc of {{.*}} in 'by_pvalloc': picked at random
PICKED(by_pvalloc, pvalloc(n * 8))
// CHECK-DAG: superpages from {{.*}}: reallocarray of {{.*}} in 'by_reallocarray': picked at random
PICKED(by_reallocarray, reallocarray(0, n, 8))
