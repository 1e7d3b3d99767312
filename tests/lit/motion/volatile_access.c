// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: volatile accesses count as accesses.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK: superpages from {{.*}}: malloc of n*8 bytes in 'f': picked at random through loaded indices
#include <stdlib.h>
void f(long n, const int *index, long m) {
  volatile double *a = malloc(n * sizeof(double));
  for (long i = 0; i < m; i++)
    a[index[i]] = i;
}
