// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: what a function stores into a field of its argument, the same field gives back.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK: superpages from {{.*}}: malloc of n*8 bytes in 'init': picked at random through loaded indices
#include <stdlib.h>
struct table {
  double *values;
  long n;
};
void init(struct table *t, long n) { t->values = malloc(n * sizeof(double)); }
double look(const struct table *t, const int *index, long m) {
  double s = 0;
  for (long i = 0; i < m; i++)
    s += t->values[index[i]];
  return s;
}
