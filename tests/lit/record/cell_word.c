// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a cell's word holds decision, flags, page size and least number of pages; its offset leads to the record.
// RUN: %clang -O2 -S -emit-llvm -o - %s | FileCheck %s
// 8638464 bytes are 2109 pages (2109 << 32); 2^21 (21 << 16); rewritten (1 << 8); at run time (2).
// CHECK: @[[SITE:__smalloc_v1_site_[0-9a-f_]*]].cell = {{.*}} { i64 9058087403778, i64 sub (i64 ptrtoint (ptr @[[SITE]] to i64), i64 ptrtoint (ptr @[[SITE]].cell to i64)), i64 0 }
#include <stdlib.h>
double f(const int *x, long n) {
  double *a = malloc(n * sizeof(double)), s = 0;
  for (long i = 0; i < n; i++)
    s += a[x[i]] += i;
  free(a);
  return s;
}
