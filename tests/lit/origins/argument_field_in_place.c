// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: what a function stores into a field of its argument and reads again there is the object.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK: superpages from {{.*}}: malloc of n*8 bytes in 'f': picked at random through loaded indices
#include <stdlib.h>
struct table {
  double *values;
  long n;
};
void clobber(void);
double f(struct table *t, long n, const int *index, long m) {
  t->values = malloc(n * sizeof(double));
  clobber();
  double s = 0;
  for (long i = 0; i < m; i++)
    s += t->values[index[i]];
  return s;
}
