// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: where a walk or a block lies in regions that are not recorded, no call tells it.
// RUN: %clang -O2 -fno-vectorize -fno-unroll-loops -fplugin-arg-smalloc-profile-generate -S -emit-llvm -o - %s | FileCheck %s
// CHECK-LABEL: define {{.*}}@sum(
// CHECK: %[[FIRST:.*]] = mul i64 %{{.*}}, -7046029254386353131
// CHECK: icmp ult i64 %[[FIRST]], %
// CHECK: %[[LAST:.*]] = mul i64 %{{.*}}, -7046029254386353131
// CHECK: icmp ult i64 %[[LAST]], %
// CHECK: br i1
// CHECK: call void %{{.*}}(i64 %{{.*}}, i64 1, ptr
// CHECK-LABEL: define {{.*}}@clear(
// CHECK: mul i64 %{{.*}}, -7046029254386353131
// CHECK: br i1
// CHECK: call void %{{.*}}(i64 %{{.*}}, i64 1, ptr
// CHECK: call void @llvm.memset
double sum(const double *a, long n) {
  double sum = 0;
  for (long i = 0; i < n; i++)
    sum += a[i];
  return sum;
}
void clear(char *a, unsigned long n) { __builtin_memset(a, 0, n); }
