// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: an address that is known only in the loop, from the index of an array that is known before, is looked at by one byte
// of the table of regions; where that does not say that nothing is kept there, it is hashed, and told into the thread's memory. An
// address that is not such an index is hashed at once. Without the library the loop is the plain one.
// RUN: %clang -O2 -fno-vectorize -fno-unroll-loops -fplugin-arg-smalloc-profile-generate -S -emit-llvm -o - %s | FileCheck %s
// CHECK-LABEL: define {{.*}}@gather(
// CHECK: %[[TABLE:.*]] = load atomic ptr, ptr getelementptr inbounds{{.*}} @__smalloc_v1_gate5, i32 0, i32 10) acquire
// CHECK: %[[OPEN:.*]] = icmp ne ptr %[[TABLE]], null
// What is indexed has to be an address: where indices are another machine's, it is not.
// CHECK: %[[REGION:.*]] = lshr i64 %{{.*}}, 21
// CHECK: %[[ADDRESS_OF_OURS:.*]] = icmp ult i64 %[[REGION]], 67108864
// CHECK: %[[MAY:.*]] = and i1 %[[OPEN]], %[[ADDRESS_OF_OURS]]
// CHECK: br i1 %[[MAY]], label %[[VERSION:.*]], label %
// The plain loop, to its end.
// CHECK-NOT: __smalloc_v1_
// CHECK: br i1 %{{.*}}, !llvm.loop
// CHECK: [[VERSION]]:
// CHECK: %[[BASE:.*]] = getelementptr i8, ptr %[[TABLE]], i64 %[[REGION]]
// The index first: it is steady.
// CHECK: @__smalloc_v1_append5(
// CHECK: %[[BEHIND:.*]] = ashr i64 %[[INDEX:.*]], 18
// CHECK: %[[ENTRY:.*]] = getelementptr i8, ptr %[[BASE]], i64 %[[BEHIND]]
// CHECK: %[[BYTE:.*]] = load i8, ptr %[[ENTRY]]
// CHECK: %[[LOOK:.*]] = icmp ne i8 %[[BYTE]], 1
// CHECK: br i1 %[[LOOK]], label %{{.*}}, label %{{.*}}, !prof
// CHECK: icmp eq i8 %{{.*}}, 0
// CHECK: call preserve_mostcc void @__smalloc_v1_look5(ptr
// CHECK: %[[AGAIN:.*]] = lshr i64 %[[ADDRESS:.*]], 21
// CHECK: %[[PRODUCT:.*]] = mul i64 %[[AGAIN]], -7046029254386353131
// CHECK: %[[SAMPLED:.*]] = icmp ult i64 %[[PRODUCT]], %
// CHECK: br i1 %[[SAMPLED]], label %{{.*}}, label %{{.*}}, !prof
// CHECK: %[[TOLD:.*]] = getelementptr i8, ptr %{{.*}}, i64 %
// CHECK: %[[NEXT:.*]] = load ptr, ptr %[[TOLD]]
// CHECK: store i64 %[[ADDRESS]], ptr %[[NEXT]]
// CHECK: call preserve_mostcc void @__smalloc_v1_tell5(i64 %[[ADDRESS]])
double gather(const double *a, const int *index, long n) {
  double sum = 0;
  for (long i = 0; i < n; i++)
    sum += a[index[i]];
  return sum;
}
// Elements of 24 bytes, an index that may wrap, and a list: no byte, in any version.
// CHECK-LABEL: define {{.*}}@hashed(
// CHECK-NOT: @__smalloc_v1_look5
// CHECK: call preserve_mostcc void @__smalloc_v1_tell5(
// CHECK-NOT: @__smalloc_v1_look5
// CHECK: {{^[}]}}
struct three {
  double x, y, z;
};
struct list {
  struct list *next;
  long rest[100];
};
double hashed(const struct three *a, const int *index, const struct list *l) {
  double sum = 0;
  for (long i = 0; l; l = l->next, i++)
    sum += a[index[i]].x;
  return sum;
}
