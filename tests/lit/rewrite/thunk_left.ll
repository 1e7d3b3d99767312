; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: a site that the runtime leaves to malloc is counted where it is called, without asking, but for one
; request in 64 KiB.
; RUN: %opt -smalloc-heap=superpage -passes='smalloc,verify' -verify-each -S %s | FileCheck %s
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
define ptr @f(i64 %n) {
  %r = call ptr @malloc(i64 %n)
  ret ptr %r
}
declare noalias ptr @malloc(i64)
; CHECK-LABEL: define linkonce_odr hidden ptr @__smalloc_v1_thunk_malloc(
; CHECK: %[[FLAG:.*]] = and i64 %word, 8388608
; CHECK: br i1 %{{.*}}, label %left, label %judge
; CHECK: left:
; CHECK-NEXT: %[[AT:.*]] = getelementptr inbounds i8, ptr %1, i64 16
; CHECK-NEXT: %[[BEFORE:.*]] = load atomic i64, ptr %[[AT]] monotonic
; CHECK-NEXT: %[[AFTER:.*]] = add i64 %[[BEFORE]], %0
; CHECK-NEXT: %[[CHANGED:.*]] = xor i64 %[[BEFORE]], %[[AFTER]]
; CHECK-NEXT: %[[LOOK:.*]] = icmp uge i64 %[[CHANGED]], 65536
; CHECK-NEXT: br i1 %[[LOOK]], label %judge, label %count
; CHECK: count:
; CHECK-NEXT: store atomic i64 %[[AFTER]], ptr %[[AT]] monotonic
; CHECK-NEXT: br label %plain
