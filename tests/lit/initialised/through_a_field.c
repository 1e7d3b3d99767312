// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: an object that is filled through the field that it was stored in.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK: at the first touch since every byte is written: malloc of n*8 bytes in 'whole'
#include <stdlib.h>
struct table {
  double *cells;
  long n;
};
double whole(struct table *t, const int *pick, long n, long *work) {
  double s = 0;
  t->cells = malloc(n * sizeof *t->cells);
  t->n = n;
  work[0] = 1;
  for (long i = 0; i < n; i++)
    t->cells[i] = i;
  for (long i = 0; i < n; i++)
    s += t->cells[pick[i]];
  return s;
}
