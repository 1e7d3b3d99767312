// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a loop whose addresses are known before it starts tells them in one call there; nothing in it.
// RUN: %clang -O2 -fno-vectorize -fno-unroll-loops -fplugin-arg-smalloc-profile-generate -S -emit-llvm -o - %s | FileCheck %s
// CHECK-LABEL: define {{.*}}@scale(
// CHECK: alloca [16 x { i64, i64 }]
// CHECK: %[[THRESHOLD:.*]] = load atomic i64, ptr getelementptr inbounds{{.*}} @__smalloc_v1_gate5, i32 0, i32 2) monotonic
// CHECK: icmp ne i64 %[[THRESHOLD]], 0
// CHECK: %[[WALK:.*]] = load ptr, ptr getelementptr inbounds{{.*}} @__smalloc_v1_gate5, i32 0, i32 4)
// CHECK: call void %[[WALK]](i64 %{{.*}}, i64 2, ptr
// CHECK-NOT: call
// CHECK: fadd double
// CHECK-NOT: call
// CHECK: br i1
void scale(double *restrict a, const double *restrict b, long n) {
  for (long i = 0; i < n; i++)
    a[i] = b[i] + 1;
}
