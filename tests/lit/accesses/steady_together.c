// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: what goes on steadily with one counter is looked at together, by one compare of the counter: the values and columns of
// a sparse matrix, in whatever row; and what each iteration of the loop around makes, before and behind the inner loop. What one
// iteration makes and another does not is looked at by itself; so is what another array of each row holds.
// RUN: %clang -O2 -fno-vectorize -fno-unroll-loops -fplugin-arg-smalloc-profile-generate -S -emit-llvm -o - %s | FileCheck %s

// The columns' elements have half the size: the window is as small as the values' page leaves it.
// CHECK-LABEL: define {{.*}}@rows(
// CHECK: asm "", "=r,0"
// CHECK-DAG: udiv i64 %{{.*}}, 8
// CHECK-DAG: udiv i64 %{{.*}}, 4
// CHECK: call i64 @llvm.umin.i64(
// CHECK: call i64 @llvm.umin.i64(
// CHECK: {{^[}]}}
double rows(const long *start, const double *value, const int *column, const double *x, double *y, long n) {
  for (long r = 0; r < n; r++) {
    double sum = 0;
    for (long k = start[r]; k < start[r + 1]; k++)
      sum += value[k] * x[column[k]];
    y[r] = sum;
  }
  return y[0];
}

// CHECK-LABEL: define {{.*}}@sometimes(
// CHECK-NOT: udiv
// CHECK: {{^[}]}}
void sometimes(const int *column, double *x, double *y, long n) {
  for (long k = 0; k < n; k++)
    if (x[column[k]] > 0)
      y[k] = 0;
}

// The rows' addresses go together, their columns do not.
// CHECK-LABEL: define {{.*}}@other_arrays(
// CHECK-NOT: udiv i64 %{{.*}}, 4
// CHECK: {{^[}]}}
double other_arrays(double *const *value, int *const *column, const double *x, long rows, long n) {
  double sum = 0;
  for (long r = 0; r < rows; r++)
    for (long k = 0; k < n; k++)
      sum += value[r][k] * x[column[r][k]];
  return sum;
}
