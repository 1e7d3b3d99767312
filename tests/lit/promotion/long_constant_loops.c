// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: (the other side of it) a nest that is known to be long asks.
// RUN: %clang -O2 -S -emit-llvm -o - %s | FileCheck %s
// CHECK: call {{.*}}void @__smalloc_v1_touch_counting(ptr {{.*}}, i64 1000000)
double f(const double *a, const int *index) {
  double s = 0;
  for (long i = 0; i < 1000000; i++)
    s += a[index[i]];
  return s;
}
