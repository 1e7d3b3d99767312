// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: two sites of the same type and size are decided apart: the hot one runs on superpages, the cold one stays.
// RUN: %remarks -fplugin-arg-smalloc-first-touch=off %s 2>&1 | FileCheck %s
// CHECK-DAG: superpages{{.*}}: malloc of 268435456 bytes in 'hot'
// CHECK-DAG: base pages: malloc of 268435456 bytes in 'cold'
#include <stdlib.h>
enum { N = 1 << 25 };
static double *hot(void) { return malloc(N * sizeof(double)); }
static double *cold(void) { return malloc(N * sizeof(double)); }
double f(const unsigned *index, long m) {
  double *a = hot(), *b = cold(), s = 0;
  for (long i = 0; i < N; i++)
    a[i] = b[i] = i;
  for (long i = 0; i < m; i++)
    s += a[index[i]];
  for (long i = 0; i < N; i++)
    s += b[i] * s;
  free(a);
  free(b);
  return s;
}
