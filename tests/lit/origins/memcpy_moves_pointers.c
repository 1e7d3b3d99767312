// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a struct copied by memcpy carries its pointers along.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK: superpages from {{.*}}: malloc of n*8 bytes in 'f': picked at random through loaded indices
#include <stdlib.h>
#include <string.h>
struct big {
  double *values;
  char other[400];
};
static struct big from, to;
__attribute__((noinline)) static double look(const int *index, long m) {
  double s = 0;
  for (long i = 0; i < m; i++)
    s += to.values[index[i]];
  return s;
}
double f(long n, const int *index, long m) {
  from.values = malloc(n * sizeof(double));
  memcpy(&to, &from, sizeof to);
  return look(index, m) + look(index + m, m);
}
