// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a loop with accesses in no order has a version for recordings of everything, in which such an access is not looked
// at: after one look for room the accesses of a block are stored one behind the other, and count with the last. The version is chosen
// in front of the outermost loop that calls nothing; a loop that has calls, or only accesses in order, has one version.
// RUN: %clang -O2 -fno-vectorize -fno-unroll-loops -fplugin-arg-smalloc-profile-generate -S -emit-llvm -o - %s | FileCheck %s
// CHECK-LABEL: define {{.*}}@gather(
// CHECK: %[[FIELD:.*]] = load atomic i64, ptr getelementptr inbounds{{.*}} @__smalloc_v1_gate5, i32 0, i32 8) monotonic
// CHECK: %[[EVERY:.*]] = icmp ne i64 %[[FIELD]], 0
// CHECK: br i1 %[[EVERY]], label %[[VERSION:.*]], label %
// CHECK-NOT: mul i64 %{{.*}}, -7046029254386353131
// CHECK: [[VERSION]]:
// CHECK: %[[THREAD:.*]] = {{.*}}call ptr @llvm.thread.pointer
// CHECK: %[[TOLD:.*]] = getelementptr i8, ptr %[[THREAD]], i64
// CHECK-NOT: mul i64
// CHECK: %[[NEXT:.*]] = load ptr, ptr %[[TOLD]]
// CHECK: %[[FULL:.*]] = icmp uge ptr %[[NEXT]], %
// CHECK: br i1 %[[FULL]], label %[[ROOM:.*]], label %[[GO:[0-9]+]]
// CHECK: [[ROOM]]:
// CHECK-NEXT: call preserve_mostcc void @__smalloc_v1_room5()
// CHECK: [[GO]]:
// CHECK: store i64 %{{.*}}, ptr %[[PLACE:.*]], align 8
// CHECK: %[[SECOND:.*]] = getelementptr i64, ptr %[[PLACE]], i64 1
// CHECK: store i64 %{{.*}}, ptr %[[SECOND]], align 8
// CHECK: %[[LAST:.*]] = getelementptr i64, ptr %[[SECOND]], i64 1
// CHECK: store ptr %[[LAST]], ptr %[[TOLD]]
// The version for what is sampled has three tests of a hash, one of them behind the index's test of its page.
// CHECK-COUNT-3: mul i64 %{{.*}}, -7046029254386353131
// CHECK-NOT: mul i64
// CHECK: {{^[}]}}
double gather(const double *a, double *b, const int *index, long rows, long n) {
  double sum = 0;
  for (long r = 0; r < rows; r++)
    for (long i = 0; i < n; i++) {
      sum += a[index[i]];
      b[index[i]] = sum;
    }
  return sum;
}
// CHECK-LABEL: define {{.*}}@in_order(
// CHECK-NOT: @__smalloc_v1_room5
// CHECK-LABEL: define {{.*}}@calling(
// CHECK-NOT: @__smalloc_v1_room5
// CHECK: {{^[}]}}
double in_order(const double *a, long rows, long n) {
  double sum = 0;
  for (long r = 0; r < rows; r++)
    for (long i = 0; i < n; i++)
      sum += a[8 * i];
  return sum;
}
void elsewhere(void);
void calling(double *a, const int *index, long n) {
  for (long i = 0; i < n; i++) {
    a[index[i]] = 1;
    elsewhere();
  }
}
