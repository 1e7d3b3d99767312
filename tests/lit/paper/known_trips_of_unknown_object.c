// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: known trip counts decide by themselves where the object's size is unknown.
// RUN: %core2remarks %s 2>&1 | FileCheck %s
// CHECK-DAG: base pages: malloc of n bytes in 'few': spread 64 pages
// CHECK-DAG: superpages: malloc of n bytes in 'many': spread 65 pages
#include <stdlib.h>
void keep(double *);
static double *few(long n) { return malloc(n); }
static double *many(long n) { return malloc(n); }
double f(long n, double s) {
  double *a = few(n), *b = many(n);
  keep(a);
  keep(b);
  for (int i = 0; i < 64 * 512; i++)
    s = s * a[i] + 1;
  for (int i = 0; i < 65 * 512; i++)
    s = s * b[i] + 1;
  return s;
}
