; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: a loop that is entered by an indirect branch, whose edge cannot be split, is survived.
; RUN: %opt -passes='print<smalloc>,smalloc' -verify-each -disable-output %s
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
define double @f(ptr %a, ptr %index, i64 %m, ptr %where) {
entry:
  indirectbr ptr %where, [label %loop, label %other]
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
