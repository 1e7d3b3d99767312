/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * in-place FFT butterflies: strides that double */
#include "nest.h"

static void butterflies(long n, double *re, double *im) {
  for (long half = 1; half < n; half *= 2)
    for (long i = 0; i < n; i += 2 * half)
      for (long j = i; j < i + half; j++) {
        double x = re[j + half], y = im[j + half];
        re[j + half] = re[j] - x;
        im[j + half] = im[j] - y;
        re[j] += x;
        im[j] += y;
      }
}

int main(void) {
  SIZE(n, 1 << 18);
  double *re = ARRAY(double, n);
  double *im = ARRAY(double, n);
  fill(re, n);
  fill(im, n);
  butterflies(n, re, im);
  USE(re[7] + im[7]);
}
