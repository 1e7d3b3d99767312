// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a function that only an object's member tells is found, and then one that the first returns, and what that
// returns.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK: superpages from {{.*}}: malloc of n*8 bytes in 'make': picked at random through loaded indices in the loop at line [[#@LINE+17]]
#include <stdlib.h>
typedef double *(*maker)(long);
struct object {
  maker (*choose)(int);
};
static double *make(long n) { return malloc(n * sizeof(double)); }
static double *none(long n) { return NULL; }
static maker choose(int kind) { return kind ? make : none; }
static maker refuse(int kind) { return none; }
double f(long n, const int *index, long m, int kind) {
  struct object *own = malloc(sizeof *own);
  own->choose = m > 10 ? choose : refuse;
  double *a = own->choose(kind)(n);
  for (long i = 0; i < n; i++)
    a[i] = i;
  double s = 0;
  for (long i = 0; i < m; i++)
    s += a[index[i]];
  return s;
}
