// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a unit for the link, and one for size, keep calls of a thunk that looks before it asks.
// RUN: %clang -Os -S -emit-llvm -o - %s | FileCheck %s
// RUN: %clang -O2 -flto -S -emit-llvm -o - %s | FileCheck %s
// RUN: %clang -O2 -flto=thin -S -emit-llvm -o - %s | FileCheck %s
// CHECK: call void @__smalloc_v1_touch(ptr {{.*}}, i64
// CHECK: define linkonce_odr hidden void @__smalloc_v1_touch(ptr %0, i64 %1) {{.*}}comdat
// CHECK: icmp {{ne|eq}} ptr @__smalloc_v1_pending, null
// CHECK: load atomic i32, ptr @__smalloc_v1_pending monotonic
// CHECK: call void @__smalloc_v1_touching(ptr %0, i64 %1)
double f(const double *a, const int *index, long m) {
  double s = 0;
  for (long i = 0; i < m; i++)
    s += a[index[i]];
  return s;
}
