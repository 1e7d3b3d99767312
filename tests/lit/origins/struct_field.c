// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: an object stored in a field of a struct object is found again through the field.
// RUN: %remarks -fplugin-arg-smalloc-first-touch=off %s 2>&1 | FileCheck %s
// CHECK-DAG: superpages from {{.*}}: malloc of n*8 bytes in 'values': picked at random through loaded indices
// CHECK-DAG: base pages: malloc of n*4 bytes in 'order': streamed
#include <stdlib.h>
struct pair {
  int *order;
  double *values;
};
static double *values(long n) { return malloc(n * sizeof(double)); }
static int *order(long n) { return malloc(n * sizeof(int)); }
double f(long n, const int *keys) {
  struct pair *p = malloc(sizeof *p);
  p->order = order(n);
  p->values = values(n);
  for (long i = 0; i < n; i++) {
    p->order[i] = keys[i];
    p->values[i] = i;
  }
  double s = 0;
  for (long i = 0; i < n; i++)
    s += p->values[p->order[i]];
  return s;
}
