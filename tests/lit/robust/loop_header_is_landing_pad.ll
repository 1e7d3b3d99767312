; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: a loop whose header is a landing pad is survived.
; RUN: %opt -passes='print<smalloc>,smalloc' -verify-each -disable-output %s
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
define void @f(ptr %a, ptr %index, i64 %m) personality ptr @__gxx_personality_v0 {
entry:
  invoke void @g() to label %done unwind label %pad
pad:
  %i = phi i64 [ 0, %entry ], [ %next, %pad ]
  %l = landingpad { ptr, i32 } catch ptr null
  %at = getelementptr i32, ptr %index, i64 %i
  %k = load i32, ptr %at
  %kx = sext i32 %k to i64
  %p = getelementptr double, ptr %a, i64 %kx
  store double 1.0, ptr %p
  %next = add nuw nsw i64 %i, 1
  invoke void @g() to label %done unwind label %pad
done:
  ret void
}
declare void @g()
declare i32 @__gxx_personality_v0(...)
