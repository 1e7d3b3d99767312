// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: what is fully written gets superpages whatever the sizes of its loops: nothing is tested at the allocation.
// RUN: %clang -O2 -fno-pic -S -emit-llvm -o - %s | FileCheck %s
// CHECK-LABEL: define {{.*}}@f(
// CHECK-NOT: icmp
// CHECK: call {{.*}}@__smalloc_v1_thunk_malloc(i64 {{[^,]*}}, ptr {{[^,]*}})
#include <stdlib.h>
double f(long n, long m) {
  double *a = malloc(n * m * sizeof(double)), s = 0;
  for (long i = 0; i < n * m; i++)
    a[i] = i;
  for (long j = 0; j < m; j++)
    for (long i = 0; i < n; i++)
      s += a[i * m + j];
  free(a);
  return s;
}
