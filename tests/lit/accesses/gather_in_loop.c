// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: an address that is known only in the loop is hashed there, before anything else is looked at; then its
// page is looked for among those that were told lately, which are forgotten before the loop.
// RUN: %clang -O2 -fno-vectorize -fno-unroll-loops -fplugin-arg-smalloc-profile-generate -S -emit-llvm -o - %s | FileCheck %s
// CHECK-LABEL: define {{.*}}@gather(
// CHECK: %[[TOLD:.*]] = alloca [64 x i32]
// CHECK: call void @llvm.memset{{.*}}(ptr align 16 %[[TOLD]], i8 -1, i64 256
// The index first: it is steady.
// CHECK: @__smalloc_v1_tell2(
// CHECK: %[[REGION:.*]] = lshr i64 %[[ADDRESS:.*]], 21
// CHECK: %[[PRODUCT:.*]] = mul i64 %[[REGION]], -7046029254386353131
// CHECK: %[[SAMPLED:.*]] = icmp ult i64 %[[PRODUCT]], %
// CHECK: br i1 %[[SAMPLED]], label %{{.*}}, label %{{.*}}, !prof
// CHECK: %[[ENTRY:.*]] = getelementptr inbounds i32, ptr %[[TOLD]], i64
// CHECK: %[[TAG:.*]] = and i32 %{{.*}}, -256
// CHECK: %[[AGE:.*]] = sub i32 %{{.*}}, %{{.*}}
// CHECK: %[[OTHER:.*]] = icmp uge i32 %[[AGE]], 32
// CHECK: br i1 %[[OTHER]], label %{{.*}}, label %{{.*}}, !prof
// CHECK: %[[NOW:.*]] = or i32 %[[TAG]], %
// CHECK: store i32 %[[NOW]], ptr %[[ENTRY]]
// CHECK: call preserve_mostcc void @__smalloc_v1_tell2(i64 %[[ADDRESS]])
double gather(const double *a, const int *index, long n) {
  double sum = 0;
  for (long i = 0; i < n; i++)
    sum += a[index[i]];
  return sum;
}
