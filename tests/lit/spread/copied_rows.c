// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a row that is copied counts as one line of it, so that rows seem to lie apart that follow each other.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK: base pages{{.*}}: malloc of n*8 bytes in 'f': streamed in the nest
#include <stdlib.h>
#include <string.h>
double f(long rounds, long rows, long width, const double *row) {
  double *a = malloc(rows * width * sizeof(double)), s = 0;
  for (long r = 0; r < rounds; r++)
    for (long i = 0; i < rows; i++)
      memcpy(a + i * width, row + r, width * sizeof(double));
  for (long i = 0; i < rows * width; i++)
    s += a[i];
  free(a);
  return s;
}
