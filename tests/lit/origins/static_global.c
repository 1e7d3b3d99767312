// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: an object in a static pointer is found by every function of the unit.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK: superpages from {{.*}}: malloc of n*8 bytes in 'setup': picked at random through loaded indices
#include <stdlib.h>
static double *table;
void setup(long n) { table = malloc(n * sizeof(double)); }
double look(const int *index, long m) {
  double s = 0;
  for (long i = 0; i < m; i++)
    s += table[index[i]];
  return s;
}
