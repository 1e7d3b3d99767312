; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: loops that are entered from invokes and from asm goto get promotion points only where that is possible.
; RUN: %opt -passes='print<smalloc>,smalloc' -verify-each -disable-output %s
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
define double @f(ptr %a, ptr %index, i64 %m) personality ptr @__gxx_personality_v0 {
entry:
  invoke void @g() to label %loop unwind label %pad
pad:
  %l = landingpad { ptr, i32 } cleanup
  br label %again
again:
  %j = phi i64 [ 0, %pad ], [ %jn, %again ]
  %q = getelementptr i32, ptr %index, i64 %j
  %kk = load i32, ptr %q
  %kkx = sext i32 %kk to i64
  %r = getelementptr double, ptr %a, i64 %kkx
  store double 1.0, ptr %r
  %jn = add nuw nsw i64 %j, 1
  %jm = icmp ult i64 %jn, %m
  br i1 %jm, label %again, label %out
out:
  resume { ptr, i32 } %l
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
done:
  ret double %s1
}
define double @h(ptr %a, ptr %index, i64 %m) {
entry:
  callbr void asm sideeffect "", "!i"() to label %loop [label %other]
other:
  ret double 0.0
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
done:
  ret double %s1
}
declare void @g()
declare i32 @__gxx_personality_v0(...)
