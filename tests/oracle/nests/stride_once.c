/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * every 8192th byte, once: each page is touched a single time */
#include "nest.h"

static double sum(long n, const double *a) {
  double s = 0;
  for (long i = 0; i < n; i += 1024)
    s += a[i];
  return s;
}

static void touch(long n, double *a) {
  for (long i = 0; i < n; i += 1024)
    a[i] = (double)i;
}

int main(void) {
  SIZE(n, 4 << 20);
  double *a = ARRAY(double, n);
  touch(n, a);
  USE(sum(n, a));
}
