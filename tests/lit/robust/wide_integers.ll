; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: 128-bit and 7-bit counters and indices are survived.
; RUN: %opt -passes='print<smalloc>,smalloc' -verify-each -disable-output %s 2>&1 | FileCheck %s
; CHECK: malloc of n bytes in 'wide'
; CHECK: malloc of n bytes in 'narrow'
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
define void @wide(i64 %n, i128 %m) {
  %p = call ptr @malloc(i64 %n)
  br label %loop
loop:
  %i = phi i128 [ 0, %0 ], [ %next, %loop ]
  %q = getelementptr i8, ptr %p, i128 %i
  store i8 1, ptr %q
  %next = add i128 %i, 8192
  %more = icmp ult i128 %next, %m
  br i1 %more, label %loop, label %done
done:
  ret void
}
define void @narrow(i64 %n, i7 %m) {
  %p = call ptr @malloc(i64 %n)
  br label %loop
loop:
  %i = phi i7 [ 0, %0 ], [ %next, %loop ]
  %q = getelementptr [8192 x i8], ptr %p, i7 %i
  store i8 1, ptr %q
  %next = add i7 %i, 1
  %more = icmp ult i7 %next, %m
  br i1 %more, label %loop, label %done
done:
  ret void
}
declare ptr @malloc(i64)
