// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: the references of one nest share the reach: two arrays that would each fit do not fit together.
// RUN: %remarks -fplugin-arg-smalloc-first-touch=off %s 2>&1 | FileCheck %s
// Each walks 1200 pages a column.
// CHECK-DAG: superpages{{.*}}: malloc of 39321600 bytes in 'first'
// CHECK-DAG: superpages{{.*}}: malloc of 39321600 bytes in 'second'
// CHECK-DAG: base pages: malloc of 39321600 bytes in 'alone'
#include <stdlib.h>
enum { Rows = 1200, Columns = 4096 };
static double *first(void) { return malloc(Rows * Columns * sizeof(double)); }
static double *second(void) { return malloc(Rows * Columns * sizeof(double)); }
static double *alone(void) { return malloc(Rows * Columns * sizeof(double)); }
double f(void) {
  double *a = first(), *b = second(), *c = alone(), s = 0;
  for (long i = 0; i < Rows * Columns; i++)
    a[i] = b[i] = c[i] = i;
  for (long j = 0; j < Columns; j++)
    for (long i = 0; i < Rows; i++)
      s += a[i * Columns + j] * b[i * Columns + j];
  for (long j = 0; j < Columns; j++)
    for (long i = 0; i < Rows; i++)
      s += c[i * Columns + j];
  free(a);
  free(b);
  free(c);
  return s;
}
