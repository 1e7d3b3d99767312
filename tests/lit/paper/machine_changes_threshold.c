// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: the threshold is entries / associativity + 1 of the machine's last level: 385 pages on zen4.
// RUN: %remarks -fplugin-arg-smalloc-model=paper %s 2>&1 | FileCheck %s
// CHECK: base pages: malloc of n bytes in 'f': spread 129 pages in the loop at line {{[0-9]+}} against the paper's threshold of 385 pages
#include <stdlib.h>
void keep(double *);
double f(long n, double s) {
  double *a = malloc(n);
  keep(a);
  for (int i = 0; i < 129 * 512; i++)
    s = s * a[i] + 1;
  return s;
}
