// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: where it is not known how much follows, an object is asked for once on the way, not before each
// loop; another object is asked for as well.
// RUN: %clang -O2 -S -emit-llvm -o - %s | FileCheck %s
// CHECK-LABEL: define {{.*}}@twice(
// CHECK-COUNT-1: call {{.*}}void @__smalloc_v1_touch_counting(
// CHECK-NOT: call {{.*}}void @__smalloc_v1_touch_counting(
// CHECK: ret double
// CHECK-LABEL: define {{.*}}@both(
// CHECK-COUNT-2: call {{.*}}void @__smalloc_v1_touch_counting(
// CHECK: ret double
#include <stdlib.h>
static double *a, *b;
void make(long n) {
  a = malloc(n * sizeof *a);
  b = malloc(n * sizeof *b);
}
double twice(unsigned key, unsigned mask, double *sum) {
  unsigned at = key;
  do {
    *sum += a[at & mask];
    at = at * 69069 + 1;
  } while (at & 15);
  at = key + 7;
  do {
    *sum -= a[at & mask];
    at = at * 69069 + 5;
  } while (at & 31);
  return *sum;
}
double both(unsigned key, unsigned mask, double *sum) {
  unsigned at = key;
  do {
    *sum += a[at & mask];
    at = at * 69069 + 1;
  } while (at & 15);
  at = key + 7;
  do {
    *sum -= b[at & mask];
    at = at * 69069 + 5;
  } while (at & 31);
  return *sum;
}
