; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: the calls of thunks that units for the link keep become guards in the link's last phase, one a block, each call with its own arguments.
; RUN: %opt -passes=smalloc-guards -verify-each -S %s | FileCheck %s
; CHECK: define void @f(
; CHECK: %kept = add i64 %n, 2
; CHECK: br i1 %{{.*}}, label %[[LOOK:.*]], label %[[ON:.*]]
; CHECK: load atomic i32, ptr @__smalloc_v1_pending monotonic
; CHECK: %used = add i64 %n, 1
; CHECK-NEXT: add i64 %used, %kept
; CHECK: call preserve_mostcc void @__smalloc_v1_touch_counting(ptr %p, i64 %used)
; CHECK-NEXT: call preserve_mostcc void @__smalloc_v1_touch_counting(ptr %p, i64 %kept)
; CHECK-NOT: load atomic
; CHECK: store i64 %kept
; CHECK: define void @for_size(
; CHECK-NEXT: call void @__smalloc_v1_touch(
; RUN: %opt -passes='default<O2>' -S %s | FileCheck --check-prefix=LAST %s
; LAST: call preserve_mostcc void @__smalloc_v1_touch_counting(
; RUN: %opt -passes='lto<O2>' -S %s | FileCheck --check-prefix=LAST %s
; RUN: %opt -passes='thinlto<O2>' -S %s | FileCheck --check-prefix=LAST %s
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
declare void @__smalloc_v1_touch(ptr, i64)
define void @f(ptr %p, ptr %to, i64 %n) {
  %used = add i64 %n, 1
  call void @__smalloc_v1_touch(ptr %p, i64 %used)
  %kept = add i64 %n, 2
  call void @__smalloc_v1_touch(ptr %p, i64 %kept)
  store i64 %kept, ptr %to
  ret void
}
define void @for_size(ptr %p) optsize {
  call void @__smalloc_v1_touch(ptr %p, i64 1)
  ret void
}
