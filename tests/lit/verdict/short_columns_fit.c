// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a column that fits the reach keeps its pages for the next column: base pages, though the object outgrows the reach.
// RUN: %remarks -fplugin-arg-smalloc-first-touch=off %s 2>&1 | FileCheck %s
// 1000 rows of 32 KiB: 8000 pages in all, but 1000 pages a column, used by 512 columns before they change.
// CHECK: base pages: malloc of 32768000 bytes in 'f': walked 32768 bytes apart in {{.*}}: 0.0020 TLB misses an access, spread 8000 pages, reach 2048 pages
#include <stdlib.h>
enum { Rows = 1000, Columns = 4096 };
double f(void) {
  double *a = malloc(Rows * Columns * sizeof(double)), s = 0;
  for (long i = 0; i < Rows * Columns; i++)
    a[i] = i;
  for (long j = 0; j < Columns; j++)
    for (long i = 0; i < Rows; i++)
      s += a[i * Columns + j];
  free(a);
  return s;
}
