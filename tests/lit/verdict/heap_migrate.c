// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: heap=migrate keeps the decisions of split and is recorded in the module record.
// RUN: %remarks -fplugin-arg-smalloc-heap=migrate %s 2>&1 | FileCheck %s
// RUN: %clang -O2 -fplugin-arg-smalloc-heap=migrate -S -emit-llvm -o - %s | FileCheck --check-prefix=IR %s
// CHECK: superpages from 8.2 MiB on: malloc of n*8 bytes in 'f'
// IR: @__smalloc_v1_module = {{.*}} { i32 1, i32 80, ptr null, ptr null, ptr null, ptr null, ptr null, i32 3, i32 0, ptr null, ptr null, ptr null }
#include <stdlib.h>
double f(long n, const int *index, long m) {
  double *a = malloc(n * sizeof(double)), s = 0;
  for (long i = 0; i < m; i++)
    s += a[index[i]] += i;
  free(a);
  return s;
}
