; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: a thunk that the link made its own, without an argument, stays as it is behind the guards.
; RUN: %opt -passes=smalloc-guards -verify-each -S %s | FileCheck %s
; CHECK: define void @f(
; CHECK: load atomic i32, ptr @__smalloc_v1_pending monotonic
; CHECK: call preserve_mostcc void @__smalloc_v1_touch(ptr %p)
; CHECK: define void @for_size(
; CHECK-NEXT: call preserve_mostcc void @__smalloc_v1_touch(
; CHECK: define internal preserve_mostcc void @__smalloc_v1_touch(ptr %0)
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
declare void @__smalloc_v1_touching(ptr, i64)
define void @f(ptr %p) {
  call fastcc void @__smalloc_v1_touch(ptr %p)
  ret void
}
define void @for_size(ptr %p) optsize {
  call fastcc void @__smalloc_v1_touch(ptr %p)
  ret void
}
define internal fastcc void @__smalloc_v1_touch(ptr %0) {
  call void @__smalloc_v1_touching(ptr %0, i64 16)
  ret void
}
