// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a loop between the allocation and its fill is no choice if it has one way out, also where guards of the size
// precede and follow it. It is a choice if it may leave without the fill.
// RUN: %remarks %s 2>&1 | FileCheck %s --implicit-check-not='first touch'
// CHECK: first touch since every byte is written: malloc of n*8 bytes in 'behind'
// CHECK: first touch since every byte is written: malloc of n*8 bytes in 'behind_nest'
#include <stdlib.h>
void use(double *);
void behind(long n, long m, const double *q) {
  double *p = malloc(n * 8), s = 0;
  if (n > 0) {
    long k = 0;
    do
      s += q[k];
    while (++k < m);
    use(0);
    if (n != 1)
      for (long i = 0; i < n; i++)
        p[i] = s;
  }
  use(p);
}
void behind_nest(long n, long m, const double *q) {
  double *p = malloc(n * 8), s = 0;
  if (n > 0) {
    long k = 0;
    do {
      long j = 0;
      do
        s = s * q[j] + k;
      while (++j < m);
    } while (++k < m);
    use(0);
    if (n != 1)
      for (long i = 0; i < n; i++)
        p[i] = s;
  }
  use(p);
}
void leaves(long n, long m, const double *q) {
  double *p = malloc(n * 8), s = 0;
  if (n > 0) {
    long k = 0;
    do {
      if (q[k] < 0)
        goto out;
      s += q[k];
    } while (++k < m);
    use(0);
    if (n != 1)
      for (long i = 0; i < n; i++)
        p[i] = s;
  }
out:
  use(p);
}
