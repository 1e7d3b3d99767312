// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: an address that is known only in the loop is hashed there, without a branch of its own.
// RUN: %clang -O2 -fno-vectorize -fno-unroll-loops -fplugin-arg-smalloc-profile-generate -S -emit-llvm -o - %s | FileCheck %s
// CHECK-LABEL: define {{.*}}@gather(
// The index first: it is steady.
// CHECK: @__smalloc_v1_tell(
// CHECK: %[[REGION:.*]] = lshr i64 %[[ADDRESS:.*]], 21
// CHECK: %[[PRODUCT:.*]] = mul i64 %[[REGION]], -7046029254386353131
// CHECK: %[[HASH:.*]] = lshr i64 %[[PRODUCT]], 32
// CHECK: %[[SAMPLED:.*]] = icmp {{.*}}ult i64 %[[HASH]], %
// CHECK: %[[OTHER:.*]] = icmp uge i64 %{{.*}}, 4096
// CHECK: %[[TELL:.*]] = {{and|select}} i1 %[[SAMPLED]], {{(i1 )?}}%[[OTHER]]
// CHECK: br i1 %[[TELL]], label %{{.*}}, label %{{.*}}, !prof
// CHECK: call preserve_mostcc void @__smalloc_v1_tell(i64 %[[ADDRESS]])
double gather(const double *a, const int *index, long n) {
  double sum = 0;
  for (long i = 0; i < n; i++)
    sum += a[index[i]];
  return sum;
}
