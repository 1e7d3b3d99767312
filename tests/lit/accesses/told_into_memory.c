// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: an access that is told goes into the thread's memory without a call of the library, while there is room. One that is
// told seldom leaves that to a function, which keeps what a unit compiles to small; one of a loop does so in line (gather_in_loop.c).
// RUN: %clang -O2 -fplugin-arg-smalloc-profile-generate -S -emit-llvm -o - %s | FileCheck %s
// CHECK-LABEL: define {{.*}}@get(
// CHECK-NOT: @llvm.thread.pointer
// CHECK: call preserve_mostcc void @__smalloc_v1_append5(
// CHECK-NOT: @llvm.thread.pointer
// CHECK: {{^[}]}}
// CHECK-LABEL: define {{.*}}preserve_mostcc void @__smalloc_v1_append5(
// CHECK: %[[THREAD:.*]] = {{.*}}call ptr @llvm.thread.pointer
// CHECK: %[[TOLD:.*]] = getelementptr i8, ptr %[[THREAD]], i64
// CHECK: %[[NEXT:.*]] = load ptr, ptr %[[TOLD]]
// CHECK: %[[FULL:.*]] = icmp uge ptr %[[NEXT]],
// CHECK: br i1 %[[FULL]],
// CHECK: store i64 %{{.*}}, ptr %[[NEXT]]
// CHECK: store ptr %{{.*}}, ptr %[[TOLD]]
// CHECK: call preserve_mostcc void @__smalloc_v1_tell5(
long get(const long *p) { return *p; }
