; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: with a profile, coverage=DIR also counts accesses as often as they ran, those outside of loops, too:
; 10 calls of one store each, and of a loop of 100 iterations.
; RUN: rm -rf %t && %opt -passes=smalloc -smalloc-coverage=%t -disable-output %s && cat %t/*.json | FileCheck %s
; CHECK: "accesses": 1,
; CHECK: "attributed": 1,
; CHECK: "loop_runs": 1000,
; CHECK-NEXT: "runs": 1010
; CHECK: "runs": {
; CHECK-NEXT: "accesses": 1010,
; CHECK-NEXT: "attributed": 1010,
; CHECK-NEXT: "unnamed": 0
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
define i64 @f(i64 %n) !prof !0 {
  %a = call ptr @malloc(i64 800)
  store i64 %n, ptr %a
  br label %loop
loop:
  %i = phi i64 [ 0, %0 ], [ %in, %loop ]
  %s = phi i64 [ 0, %0 ], [ %sn, %loop ]
  %p = getelementptr i64, ptr %a, i64 %i
  %x = load i64, ptr %p
  %sn = add i64 %s, %x
  %in = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %in, %n
  br i1 %more, label %loop, label %done, !prof !1
done:
  call void @free(ptr %a)
  ret i64 %sn
}
declare ptr @malloc(i64)
declare void @free(ptr)
!0 = !{!"function_entry_count", i64 10}
!1 = !{!"branch_weights", i32 99, i32 1}
