// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: -Rpass-missed=smalloc alone says what was not decided, and why.
// RUN: %clang -O2 -c -o /dev/null -Rpass-missed=smalloc %s 2>&1 | FileCheck %s
// CHECK-NOT: superpages from
// CHECK: remark: undecided: malloc of n bytes in 'g': no loop of this unit walks it; its pointer leaves the unit, so other units may walk it: watched at run time [-Rpass-missed=smalloc]
// CHECK-NOT: remark:
#include <stdlib.h>
double f(const int *x, long n) {
  double *a = malloc(n * sizeof(double)), s = 0;
  for (long i = 0; i < n; i++)
    s += a[x[i]] += i;
  free(a);
  return s;
}
void *g(long n) { return malloc(n); }
