// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: -Rpass=smalloc alone says what was decided, and nothing of what was not.
// RUN: %clang -O2 -c -o /dev/null -Rpass=smalloc %s 2>&1 | FileCheck %s
// CHECK: remark: superpages from {{.*}} [-Rpass=smalloc]
// CHECK-NOT: remark:
#include <stdlib.h>
double f(const int *x, long n) {
  double *a = malloc(n * sizeof(double)), s = 0;
  for (long i = 0; i < n; i++)
    s += a[x[i]] += i;
  free(a);
  return s;
}
void *g(void) { return malloc(10); }
