; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: a constant trip count beyond 64 bits is survived.
; RUN: %opt -passes='print<smalloc>,smalloc' -verify-each -disable-output %s 2>&1 | FileCheck %s
; CHECK: malloc of n bytes in 'f'
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
define void @f(i64 %n) {
  %p = call ptr @malloc(i64 %n)
  br label %loop
loop:
  %i = phi i128 [ 0, %0 ], [ %next, %loop ]
  %k = trunc i128 %i to i64
  %q = getelementptr i8, ptr %p, i64 %k
  store i8 1, ptr %q
  %next = add i128 %i, 8192
  %more = icmp ult i128 %next, 340282366920938463463374607431768211400
  br i1 %more, label %loop, label %done
done:
  ret void
}
declare ptr @malloc(i64)
