// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a call through a table is not taken to reach a function of another type or number of arguments, whose
// callers are then unknown.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK-NOT: picked at random
// CHECK: malloc of n*8 bytes in 'f'
// CHECK-NOT: picked at random
// RUN: rm -rf %t && mkdir %t && %clang -O2 -fplugin-arg-smalloc-coverage=%t -c -o %t/o %s
// RUN: %python -c "import glob, json; print(sorted(json.load(open(glob.glob('%t/*.json')[0]))['unnamed_in']))" | FileCheck --check-prefix=UNKNOWN %s
// UNKNOWN: ['more', 'other', 'result']
#include <stdlib.h>
typedef void any(void);
static double more(const double *a, const int *index, long m, long from) {
  double s = 0;
  for (long i = from; i < m; i++)
    s += a[index[i]];
  return s;
}
static double other(const double *a, const int *index, double m) {
  double s = 0;
  for (long i = 0; i < (long)m; i++)
    s += a[index[i]];
  return s;
}
static float result(const double *a, const int *index, long m) {
  double s = 0;
  for (long i = 0; i < m; i++)
    s += a[index[i]];
  return (float)s;
}
static any *const table[] = {(any *)more, (any *)other, (any *)result};
double f(long n, const int *index, long m, int kind) {
  double *a = malloc(n * sizeof(double));
  for (long i = 0; i < n; i++)
    a[i] = i;
  double s = ((double (*)(const double *, const int *, long))table[kind])(a, index, m);
  free(a);
  return s;
}
