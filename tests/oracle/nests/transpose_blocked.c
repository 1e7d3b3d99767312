/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * the same in blocks of 16 by 16 */
#include "nest.h"

static void transpose(long n, const double *a, double *b) {
  for (long i = 0; i < n; i += 16)
    for (long j = 0; j < n; j += 16)
      for (long k = i; k < i + 16; k++)
        for (long l = j; l < j + 16; l++)
          b[l * n + k] = a[k * n + l];
}

int main(void) {
  SIZE(n, 1024);
  double *a = ARRAY(double, n *n);
  double *b = ARRAY(double, n *n);
  fill(a, n * n);
  transpose(n, a, b);
  USE(b[7]);
}
