// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: sizes that decide and are known at run time only are tested where the object is allocated, and the remark says which.
// RUN: %remarks -fplugin-arg-smalloc-first-touch=off %s 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: %clang -fplugin-arg-smalloc-first-touch=off -O2 -S -emit-llvm -o - %s | FileCheck %s
// REMARK: superpages from {{.*}} on, at the first touch since every byte is written: malloc of n*8 bytes in 'f': walked across rows {{.*}}; only where the loop at line 24 runs at least 2049 times and the loop at line 23 runs at least 257 times, which is tested where it is allocated
// CHECK: @smalloc.no_cell = private constant { i64, i64, i64 } zeroinitializer
// A row of 257 doubles is longer than the stride of any stream.
// CHECK-LABEL: define {{.*}}@f(
// CHECK: %[[WORD:.*]] = load atomic i64, ptr @[[CELL:.*]] monotonic
// A directive or a profile that has decided since is obeyed whatever the sizes.
// CHECK: and i64 %[[WORD]], 2130706687
// CHECK: select i1 {{.*}}, ptr @[[CELL]], ptr @smalloc.no_cell
// CHECK: call {{.*}}@__smalloc_v1_thunk_malloc(i64 {{.*}}, ptr {{.*}})
// Nobody knows the sizes of another function's loops there, and what leaves the unit may be walked otherwise: no test.
// CHECK-LABEL: define {{.*}}@g(
// CHECK-NOT: smalloc.no_cell
// CHECK: call {{.*}}@__smalloc_v1_thunk_malloc(i64 {{.*}}, ptr {{.*}}@{{.*}})
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
double *g(long n, long m) {
  double *a = malloc(n * m * sizeof(double));
  for (long i = 0; i < n * m; i++)
    a[i] = i;
  for (long j = 0; j < m; j++)
    for (long i = 0; i < n; i++)
      a[i * m + j] += j;
  return a;
}
