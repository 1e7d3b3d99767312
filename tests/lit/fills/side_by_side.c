// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: arrays that a nest fills side by side through an array of pointers are told of in one call, before the
// nest. Not where the nest may end before it has read all pointers, sets them itself, or loads them under a condition; nor with a
// number of pointers known at run time only.
// RUN: %clang -O2 -fno-discard-value-names -S -emit-llvm -o - %s | FileCheck %s
// RUN: %clang -O2 --target=x86_64-linux-gnu -S -o - %s | FileCheck --check-prefix=TEXT %s
struct lattice {
  long n;
  double *f[19], *g[19];
};
// CHECK-LABEL: define {{.*}}@fill(
// CHECK-DAG: %[[F:.*]] = getelementptr inbounds {{(nuw )?}}i8, ptr %l, i64 8{{$}}
// CHECK-DAG: %[[G:.*]] = getelementptr inbounds {{(nuw )?}}i8, ptr %l, i64 160{{$}}
// CHECK-DAG: %[[BYTES:.*]] = shl {{.*}}i64 %{{.*}}, 3
// CHECK-DAG: call preserve_mostcc void @__smalloc_v1_large_fill_each(ptr {{.*}}%[[F]], i64 %[[BYTES]], i64 %[[BYTES]], i64 19, i64 0)
// CHECK-DAG: call preserve_mostcc void @__smalloc_v1_large_fill_each(ptr {{.*}}%[[G]], i64 %[[BYTES]], i64 %[[BYTES]], i64 19, i64 0)
// CHECK: ret void
void fill(struct lattice *restrict l, const double *restrict w) {
  for (long i = 0; i < l->n; i++)
    for (int q = 0; q < 19; q++)
      l->f[q][i] = l->g[q][i] = w[q];
}
// CHECK-LABEL: define {{.*}}@behind_a_border(
// CHECK: call preserve_mostcc void @__smalloc_v1_large_fill_each(ptr {{.*}}, i64 {{.*}}, i64 {{.*}}, i64 19, i64 80)
// CHECK: ret void
void behind_a_border(struct lattice *restrict l, const double *restrict w) {
  for (long i = 10; i < l->n; i++)
    for (int q = 0; q < 19; q++)
      l->f[q][i] = l->g[q][i] = w[q];
}
// CHECK-LABEL: define {{.*}}@until(
// CHECK-NOT: call {{.*}}fill_each(
void until(struct lattice *restrict l, const double *restrict w, const char *restrict end) {
  for (long i = 0; i < l->n; i++) {
    if (end[i])
      break;
    for (int q = 0; q < 19; q++)
      l->f[q][i] = l->g[q][i] = w[q];
  }
}
// CHECK-LABEL: define {{.*}}@with_a_call(
// CHECK-NOT: call {{.*}}fill_each(
void other(long);
void with_a_call(struct lattice *restrict l, const double *restrict w) {
  for (long i = 0; i < l->n; i++) {
    other(i);
    for (int q = 0; q < 19; q++)
      l->f[q][i] = l->g[q][i] = w[q];
  }
}
// CHECK-LABEL: define {{.*}}@sets_them(
// CHECK-NOT: call {{.*}}fill_each(
void sets_them(struct lattice *restrict l, const double *restrict w, double *from) {
  for (long i = 0; i < l->n; i++) {
    l->f[i % 19] = from + i;
    for (int q = 0; q < 19; q++)
      l->f[q][i] = l->g[q][i] = w[q];
  }
}
// CHECK-LABEL: define {{.*}}@in_place(
// CHECK-NOT: call {{.*}}fill_each(
void in_place(struct lattice *restrict l, const double *restrict w, long steps) {
  for (long step = 0; step < steps; step++)
    for (long i = 0; i < l->n; i++)
      for (int q = 0; q < 19; q++) {
        l->f[q][i] += w[q];
        l->g[q][i] += w[q];
      }
}
// CHECK-LABEL: define {{.*}}@some(
// CHECK-NOT: call {{.*}}fill_each(
void some(struct lattice *restrict l, const double *restrict w, const char *restrict uses) {
  for (long i = 0; i < l->n; i++)
    for (int q = 0; q < 19; q++)
      if (uses[q])
        l->f[q][i] = l->g[q][i] = w[q];
}
// CHECK-LABEL: define {{.*}}@of_any_number(
// CHECK-NOT: call {{.*}}fill_each(
void of_any_number(double **restrict f, const double *restrict w, long n, int m) {
  for (long i = 0; i < n; i++)
    for (int q = 0; q < m; q++)
      f[q][i] = w[q];
}
// CHECK-LABEL: define linkonce_odr hidden preserve_mostcc void @__smalloc_v1_large_fill_each(
// CHECK: icmp ugt i64 %2, 2097151

// TEXT: __smalloc_v1_large_fill_each:
// TEXT: cmpq $2097152, %rdx
