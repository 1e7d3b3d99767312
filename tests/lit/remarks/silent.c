// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: without a remark option the compiler says nothing.
// RUN: %clang -O2 -Wall -Werror -c -o /dev/null %s 2>&1 | count 0
#include <stdlib.h>
double f(const int *x, long n) {
  double *a = malloc(n * sizeof(double)), s = 0;
  for (long i = 0; i < n; i++)
    s += a[x[i]] += i;
  free(a);
  return s;
}
