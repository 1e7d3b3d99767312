// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: stores at places that a mask or a remainder picks count 1 KiB each, others their own bytes; the range
// is the whole object.
// RUN: %clang -O2 -fno-discard-value-names -S -emit-llvm -o - %s | FileCheck %s

// CHECK-LABEL: define {{.*}}@table(
// CHECK: %[[BYTES:.*]] = shl {{.*}}i64 %n, 10
// CHECK: call preserve_mostcc void @__smalloc_v1_large_fill(ptr {{captures.none.|nocapture}} %t, i64 0, i64 %[[BYTES]])
// CHECK: ret void
void table(unsigned long *restrict t, const unsigned long *restrict key, long n,
           unsigned long mask) {
  for (long i = 0; i < n; i++)
    t[(key[i] * 0x9e3779b97f4a7c15ul >> 7) & mask] = key[i];
}
// CHECK-LABEL: define {{.*}}@permuted(
// CHECK: %[[BYTES:.*]] = shl {{.*}}i64 %n, 2
// CHECK: call preserve_mostcc void @__smalloc_v1_large_fill(ptr {{captures.none.|nocapture}} %to, i64 0, i64 %[[BYTES]])
// CHECK: ret void
void permuted(float *restrict to, const float *restrict from, const long *restrict at, long n) {
  for (long i = 0; i < n; i++)
    to[at[i]] = from[i];
}
// A pair of eight bytes each: the pair is the element.
// CHECK-LABEL: define {{.*}}@records(
// CHECK: %[[BYTES:.*]] = shl {{.*}}i64 %n, 4
// CHECK: call preserve_mostcc void @__smalloc_v1_large_fill(ptr {{captures.none.|nocapture}} %to, i64 0, i64 %[[BYTES]])
// CHECK: ret void
struct pair {
  double re, im;
};
void records(struct pair *restrict to, const long *restrict at, double by, long n) {
  for (long i = 0; i < n; i++) {
    to[at[i]].re = by;
    to[at[i]].im = -by;
  }
}
