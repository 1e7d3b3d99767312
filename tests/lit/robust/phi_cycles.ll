; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: phis that feed one another around a loop, without a start, are survived.
; RUN: %opt -passes='print<smalloc>,smalloc' -verify-each -disable-output %s 2>&1 | FileCheck %s
; CHECK: malloc of n bytes in 'f'
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
define void @f(i64 %n, i1 %c) {
  %p = call ptr @malloc(i64 %n)
  br label %loop
loop:
  %a = phi ptr [ %p, %0 ], [ %b, %latch ]
  %b = phi ptr [ null, %0 ], [ %d, %latch ]
  %d = phi ptr [ %p, %0 ], [ %a, %latch ]
  %i = phi i64 [ 0, %0 ], [ %next, %latch ]
  br i1 %c, label %left, label %right
left:
  br label %latch
right:
  br label %latch
latch:
  %e = phi ptr [ %a, %left ], [ %b, %right ]
  %q = getelementptr i8, ptr %e, i64 %i
  store i8 1, ptr %q
  %next = add i64 %i, 8192
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
declare ptr @malloc(i64)
