// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: an access under a condition is told only when it happens.
// RUN: %clang -O2 -fno-vectorize -fno-unroll-loops -fplugin-arg-smalloc-profile-generate -S -emit-llvm -o - %s | FileCheck %s
// CHECK-LABEL: define {{.*}}@some(
// CHECK-NOT: alloca [16 x { i64, i64 }]
// CHECK: @__smalloc_v1_tell5(
// CHECK: ret void
void some(double *a, const char *wanted, long n) {
  for (long i = 0; i < n; i++)
    if (wanted[i])
      a[8 * i] = 1;
}
