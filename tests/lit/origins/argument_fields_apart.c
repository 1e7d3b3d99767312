// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: two fields of an argument are kept apart: what is walked through one does not speak for the other.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK-DAG: superpages from {{.*}}: malloc of n*8 bytes in 'hot': picked at random through loaded indices
// CHECK-DAG: undecided: malloc of n*8 bytes in 'cold': no loop of this unit walks it
#include <stdlib.h>
struct table {
  double *hot, *cold;
};
static double *hot(long n) { return malloc(n * sizeof(double)); }
static double *cold(long n) { return malloc(n * sizeof(double)); }
void init(struct table *t, long n) {
  t->hot = hot(n);
  t->cold = cold(n);
}
double look(const struct table *t, const int *index, long m) {
  double s = 0;
  for (long i = 0; i < m; i++)
    s += t->hot[index[i]];
  return s;
}
