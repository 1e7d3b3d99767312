// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: before a nest that writes a range, in whatever order, the program tells how many bytes that is; once,
// before the outermost of its loops whose count is known.
// RUN: %clang -O2 -fno-discard-value-names -S -emit-llvm -o - %s | FileCheck %s
// RUN: %clang -O2 -fplugin-arg-smalloc-first-touch=off -S -emit-llvm -o - %s | FileCheck --check-prefix=OFF %s
// OFF-NOT: @__smalloc_v1_{{ask_filling|large_fill}}

// CHECK-LABEL: define {{.*}}@upwards(
// CHECK: %[[BYTES:.*]] = shl {{.*}}i64 %n, 3
// CHECK: icmp ugt i64 %[[BYTES]], 2097151
// CHECK: call preserve_mostcc void @__smalloc_v1_large_fill(ptr {{captures.none.|nocapture}} %a, i64 %[[BYTES]], i64 %[[BYTES]])
// CHECK: ret void
void upwards(double *restrict a, double by, long n) {
  for (long i = 0; i < n; i++)
    a[i] = i * by;
}
// CHECK-LABEL: define {{.*}}@across_rows(
// CHECK: call preserve_mostcc void @__smalloc_v1_large_fill(ptr {{captures.none.|nocapture}} %a,
// CHECK-NOT: @__smalloc_v1_{{ask_filling|large_fill}}
// CHECK: {{^[}]$}}
void across_rows(float *restrict a, int rows, int columns) {
  for (int j = 0; j < columns; j++)
    for (int i = 0; i < rows; i++)
      a[(long)i * columns + j] = i ^ j;
}
struct grid {
  long n;
  double *cell;
};
// CHECK-LABEL: define {{.*}}@field(
// CHECK: call preserve_mostcc void @__smalloc_v1_large_fill(
// CHECK: ret void
void field(struct grid *g, const double *restrict from) {
  for (long i = 0; i < g->n; i++)
    g->cell[i] = from[i] + 1;
}
// CHECK-LABEL: define {{.*}}@downwards(
// CHECK: call preserve_mostcc void @__smalloc_v1_large_fill(
// CHECK: ret void
void downwards(long *restrict a, long n) {
  for (long i = n - 1; i >= 0; i--)
    a[i] = i * i;
}
// CHECK-LABEL: define {{.*}}@into_zeroes(
// CHECK: call preserve_mostcc void @__smalloc_v1_large_fill(
// CHECK: ret void
void into_zeroes(double *restrict a, const double *restrict by, long n) {
  for (long i = 0; i < n; i++)
    a[i] += by[i];
}
