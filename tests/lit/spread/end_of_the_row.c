// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: the element behind the end of a row that has just been walked counts as a page of its own: as a walk
// across the rows, wherever the block that reads it stands in the function.
// RUN: %remarks -fplugin-arg-smalloc-first-touch=off %s 2>&1 | FileCheck %s
// CHECK: base pages{{.*}}: malloc of n*8 bytes in 'f': streamed in the
#include <stdlib.h>
void use(double);
void f(long n, long lead) {
  double *a = malloc(n * lead * sizeof(double));
  for (long i = 0; i < n * lead; i++)
    a[i] = i + 1;
  for (long i = 0; i < n; i++)
    for (long j = 0; j < i; j++) {
      double s = 0;
#pragma clang loop unroll(disable)
      for (long k = 0; k < j; k++)
        s += a[j * lead + k];
      use(s / a[j * lead + j]);
    }
  free(a);
}
