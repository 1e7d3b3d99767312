; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: printing verdicts of a 32-bit unit does not crash.
; RUN: %opt -passes='print<smalloc>,smalloc' -verify-each -S %s 2>&1 | FileCheck %s
; CHECK-NOT: __smalloc_v1
target datalayout = "e-m:e-p:32:32-p270:32:32-p271:32:32-p272:64:64-i128:128-f64:32:64-f80:32-n8:16:32-S128"
target triple = "i686-unknown-linux-gnu"
define ptr @f(i32 %n, i32 %m) {
  %p = call ptr @malloc(i32 %n)
  %r = call ptr @calloc(i32 %n, i32 %m)
  br label %loop
loop:
  %i = phi i32 [ 0, %0 ], [ %next, %loop ]
  %q = getelementptr i8, ptr %p, i32 %i
  store i8 1, ptr %q
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret ptr %r
}
declare ptr @malloc(i32)
declare ptr @calloc(i32, i32)
