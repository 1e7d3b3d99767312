; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: a profile's estimate of a loop's iterations stands for a count that is not known.
; RUN: %opt -passes='print<smalloc>' -disable-output %s 2>&1 | FileCheck %s
; 33554432 bytes are 8192 pages, but a column has 100 rows only.
; CHECK: malloc of 33554432 bytes in 'f': base strided
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
define double @f(i64 %rows) !prof !0 {
  %a = call ptr @malloc(i64 33554432)
  br label %outer
outer:
  %j = phi i64 [ 0, %0 ], [ %jn, %latch ]
  %so = phi double [ 0.0, %0 ], [ %s1, %latch ]
  br label %loop
loop:
  %i = phi i64 [ 0, %outer ], [ %in, %loop ]
  %s = phi double [ %so, %outer ], [ %s1, %loop ]
  %row = mul i64 %i, 8192
  %at = add i64 %row, %j
  %p = getelementptr double, ptr %a, i64 %at
  %x = load double, ptr %p
  %s1 = fadd double %s, %x
  %in = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %in, %rows
  br i1 %more, label %loop, label %latch, !prof !1
latch:
  %jn = add nuw nsw i64 %j, 1
  %again = icmp ult i64 %jn, 8192
  br i1 %again, label %outer, label %done
done:
  ret double %s1
}
declare ptr @malloc(i64)
!0 = !{!"function_entry_count", i64 1}
!1 = !{!"branch_weights", i32 99, i32 1}
