// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: an address that is known only in the loop is hashed there, before anything else is looked at, and then told into
// the thread's memory.
// RUN: %clang -O2 -fno-vectorize -fno-unroll-loops -fplugin-arg-smalloc-profile-generate -S -emit-llvm -o - %s | FileCheck %s
// CHECK-LABEL: define {{.*}}@gather(
// The index first: it is steady.
// CHECK: @__smalloc_v1_tell4(
// CHECK: %[[REGION:.*]] = lshr i64 %[[ADDRESS:.*]], 21
// CHECK: %[[PRODUCT:.*]] = mul i64 %[[REGION]], -7046029254386353131
// CHECK: %[[SAMPLED:.*]] = icmp ult i64 %[[PRODUCT]], %
// CHECK: br i1 %[[SAMPLED]], label %{{.*}}, label %{{.*}}, !prof
// CHECK: %[[TOLD:.*]] = getelementptr i8, ptr %{{.*}}, i64 %
// CHECK: %[[NEXT:.*]] = load ptr, ptr %[[TOLD]]
// CHECK: store i64 %[[ADDRESS]], ptr %[[NEXT]]
// CHECK: call preserve_mostcc void @__smalloc_v1_tell4(i64 %[[ADDRESS]])
double gather(const double *a, const int *index, long n) {
  double sum = 0;
  for (long i = 0; i < n; i++)
    sum += a[index[i]];
  return sum;
}
