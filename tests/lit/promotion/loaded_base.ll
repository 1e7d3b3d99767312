; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: a base that the loop's header loads first thing is loaded before the loop as well.
; RUN: %opt -passes=smalloc -verify-each -S %s | FileCheck %s
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
define double @f(ptr %holder, ptr %index, i64 %m) {
; CHECK: entry:
; CHECK-NEXT: %[[BASE:.*]] = load ptr, ptr %holder
; CHECK: call void @__smalloc_v1_touch(ptr {{captures.none.|nocapture}} %[[BASE]], i64
; CHECK-NEXT: br label %loop
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %s = phi double [ 0.0, %entry ], [ %s1, %loop ]
  %base = load ptr, ptr %holder
  %at = getelementptr i32, ptr %index, i64 %i
  %k = load i32, ptr %at
  %kx = sext i32 %k to i64
  %p = getelementptr double, ptr %base, i64 %kx
  %x = load double, ptr %p
  %s1 = fadd double %s, %x
  store double %s1, ptr %holder
  %next = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %next, %m
  br i1 %more, label %loop, label %done
done:
  ret double %s1
}
