// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: an access in a nest forgets the pages that it has told before the nest, not before each inner loop.
// RUN: %clang -O2 -fno-vectorize -fno-unroll-loops -fplugin-arg-smalloc-profile-generate -S -emit-llvm -o - %s | FileCheck %s
// CHECK-LABEL: define {{.*}}@multiply(
// CHECK: call void @llvm.memset
// CHECK: phi
// CHECK-NOT: call void @llvm.memset
// CHECK: ret void
void multiply(double *restrict y, const double *x, const double *value, const int *column, const long *start, long rows) {
  for (long r = 0; r < rows; r++) {
    double sum = 0;
    for (long k = start[r]; k < start[r + 1]; k++)
      sum += value[k] * x[column[k]];
    y[r] = sum;
  }
}
