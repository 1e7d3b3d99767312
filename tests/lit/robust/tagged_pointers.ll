; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: a pointer with a tag in its low bits is still that object's pointer.
; RUN: %opt -passes='print<smalloc>' -disable-output %s 2>&1 | FileCheck %s
; CHECK: malloc of n bytes in 'f': runtime scattered
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
define double @f(i64 %n, ptr %index, i64 %m) {
  %p = call ptr @malloc(i64 %n)
  %bits = ptrtoint ptr %p to i64
  %tagged = or i64 %bits, 1
  br label %loop
loop:
  %i = phi i64 [ 0, %0 ], [ %next, %loop ]
  %s = phi double [ 0.0, %0 ], [ %s1, %loop ]
  %clean = and i64 %tagged, -8
  %base = inttoptr i64 %clean to ptr
  %at = getelementptr i32, ptr %index, i64 %i
  %k = load i32, ptr %at
  %kx = sext i32 %k to i64
  %q = getelementptr double, ptr %base, i64 %kx
  %x = load double, ptr %q
  %s1 = fadd double %s, %x
  %next = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %next, %m
  br i1 %more, label %loop, label %done
done:
  ret double %s1
}
declare ptr @malloc(i64)
