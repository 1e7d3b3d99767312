; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: a resize at a site that the runtime leaves to malloc is counted where it is called, without asking for
; the object's size, but for one in 128, new objects, and sizes from 64 KiB on.
; RUN: %opt -smalloc-heap=superpage -passes='smalloc,verify' -verify-each -S %s | FileCheck %s
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
define ptr @f(ptr %p, i64 %n) {
  %r = call ptr @realloc(ptr %p, i64 %n)
  ret ptr %r
}
declare ptr @realloc(ptr, i64)
; CHECK-LABEL: define linkonce_odr hidden ptr @__smalloc_v1_thunk_realloc(
; CHECK: %[[FLAG:.*]] = and i64 %word, 8388608
; CHECK: br i1 %{{.*}}, label %left, label %judge
; CHECK: left:
; CHECK-NEXT: %[[NEW:.*]] = icmp eq ptr %0, null
; CHECK-NEXT: br i1 %[[NEW]], label %judge, label %old
; CHECK: count:
; CHECK-NEXT: store atomic i64 %[[AFTER:.*]], ptr %[[AT:.*]] monotonic
; CHECK-NEXT: br label %plain
; CHECK: old:
; CHECK-NEXT: %[[LARGE:.*]] = icmp uge i64 %1, 65536
; CHECK-NEXT: br i1 %[[LARGE]], label %judge, label %few
; CHECK: few:
; CHECK-NEXT: %[[AT]] = getelementptr inbounds i8, ptr %2, i64 16
; CHECK-NEXT: %[[BEFORE:.*]] = load atomic i64, ptr %[[AT]] monotonic
; CHECK-NEXT: %[[AFTER]] = add i64 %[[BEFORE]], 512
; CHECK-NEXT: %[[CHANGED:.*]] = xor i64 %[[BEFORE]], %[[AFTER]]
; CHECK-NEXT: %[[LOOK:.*]] = icmp uge i64 %[[CHANGED]], 65536
; CHECK-NEXT: br i1 %[[LOOK]], label %judge, label %count
