/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * permutation of an FFT: computed indices */
#include "nest.h"

static void permute(long n, int bits, double *a) {
  for (long i = 0; i < n; i++) {
    long j = 0;
    for (int k = 0; k < bits; k++)
      j |= (i >> k & 1) << (bits - 1 - k);
    if (i < j) {
      double t = a[i];
      a[i] = a[j];
      a[j] = t;
    }
  }
}

int main(void) {
  SIZE(n, 1 << 19);
  double *a = ARRAY(double, n);
  fill(a, n);
  permute(n, 19, a);
  USE(a[7]);
}
