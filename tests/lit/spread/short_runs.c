// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: runs too short for the prefetcher are waited for, small stride or not.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK: superpages{{.*}}: malloc of 163840000 bytes in 'f': walked 8 bytes apart
#include <stdlib.h>
enum { Rows = 20000, Lead = 1024 };
double f(int rounds) {
  double *a = malloc(Rows * (size_t)Lead * sizeof(double)), s = 0;
  for (long i = 0; i < Rows * (long)Lead; i++)
    a[i] = i;
  for (int r = 0; r < rounds; r++)
    for (long i = 0; i < Rows; i++)
#pragma clang loop unroll(disable)
      for (long j = 0; j < 12; j++)
        s += a[i * Lead + j] * r;
  free(a);
  return s;
}
