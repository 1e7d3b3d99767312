// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: the paper's model on the paper's machine: a transpose of 128 x 128 doubles is base pages (Magee and Qasem part at 129).
// RUN: %core2remarks %s 2>&1 | FileCheck %s
// CHECK: base pages: malloc of 131072 bytes in 'f': spread 64 pages in the nest of 2 loops at line {{[0-9]+}} against the paper's threshold of 65 pages
#include <stdlib.h>
enum { N = 128 };
void keep(double *);
void f(void) {
  double *a = malloc(N * N * sizeof(double)), *b = malloc(N * N * sizeof(double));
  keep(a);
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++)
      b[j * N + i] = a[i * N + j];
  keep(b);
}
