; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: two loops behind one branch each get their point on their own edge.
; RUN: %opt -passes='smalloc' -verify-each -S %s | FileCheck %s
; CHECK-COUNT-2: call void @__smalloc_v1_touch(
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
define double @f(ptr %a, ptr %index, i64 %m, i1 %c) {
entry:
  br i1 %c, label %loop, label %loop2
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %s = phi double [ 0.0, %entry ], [ %s1, %loop ]
  %at = getelementptr i32, ptr %index, i64 %i
  %k = load i32, ptr %at
  %kx = sext i32 %k to i64
  %p = getelementptr double, ptr %a, i64 %kx
  %x = load double, ptr %p
  %s1 = fadd double %s, %x
  %next = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %next, %m
  br i1 %more, label %loop, label %done
loop2:
  %j = phi i64 [ 0, %entry ], [ %jn, %loop2 ]
  %t = phi double [ 0.0, %entry ], [ %t1, %loop2 ]
  %jt = getelementptr i32, ptr %index, i64 %j
  %l = load i32, ptr %jt
  %lx = sext i32 %l to i64
  %q = getelementptr double, ptr %a, i64 %lx
  %y = load double, ptr %q
  %t1 = fmul double %t, %y
  %jn = add nuw nsw i64 %j, 2
  %jm = icmp ult i64 %jn, %m
  br i1 %jm, label %loop2, label %done
done:
  %r = phi double [ %s1, %loop ], [ %t1, %loop2 ]
  ret double %r
}
