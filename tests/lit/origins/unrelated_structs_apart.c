// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: fields of two unrelated structs that happen to lie at one offset are kept apart.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK-DAG: superpages from {{.*}}: malloc of n*8 bytes in 'hot': picked at random through loaded indices
// CHECK-DAG: undecided: malloc of n*8 bytes in 'cold': no loop of this unit walks it
#include <stdlib.h>
struct table {
  double *values;
};
struct log {
  double *lines;
};
static double *hot(long n) { return malloc(n * sizeof(double)); }
static double *cold(long n) { return malloc(n * sizeof(double)); }
void init_table(struct table *t, long n) { t->values = hot(n); }
void init_log(struct log *l, long n) { l->lines = cold(n); }
double look(const struct table *t, const int *index, long m) {
  double s = 0;
  for (long i = 0; i < m; i++)
    s += t->values[index[i]];
  return s;
}
