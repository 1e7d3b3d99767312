// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: the paper looks at one procedure: a caller's loop adds nothing to the spread.
// RUN: %core2remarks %s 2>&1 | FileCheck %s
// CHECK: base pages: malloc of n bytes in 'f': spread 8 pages in the loop at line
#include <stdlib.h>
void keep(double *);
__attribute__((noinline)) static double walk(const double *a, double s) {
  for (int i = 0; i < 4096; i++)
    s = s * a[i] + 1;
  return s;
}
double f(long n, double s, int rounds) {
  double *a = malloc(n);
  keep(a);
  for (int r = 0; r < rounds; r++)
    s = walk(a, s);
  return s;
}
