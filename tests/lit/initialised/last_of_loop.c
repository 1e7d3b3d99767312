// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: of the objects that a loop allocates, a fill behind the loop writes the last one only. A loop that asks again
// after a failure gets one object.
// RUN: %remarks %s 2>&1 | FileCheck %s --implicit-check-not="first touch{{.*}}'last'"
// CHECK: first touch since every byte is written: malloc of n*8 bytes in 'again'
#include <stdlib.h>
void use(double *);
void wait(void);
void again(long n) {
  double *p;
  while (!(p = malloc(n * 8)))
    wait();
  for (long i = 0; i < n; i++)
    p[i] = 1;
  use(p);
}
void last(long n, long m, double **q) {
  double *p;
  long k = 0;
  do
    q[k] = p = malloc(n * 8);
  while (++k < m);
  for (long i = 0; i < n; i++)
    p[i] = 1;
}
