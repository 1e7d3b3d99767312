; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: the most negative stride has no positive counterpart, and is survived.
; RUN: %opt -passes='print<smalloc>,smalloc' -verify-each -disable-output %s 2>&1 | FileCheck %s
; CHECK: malloc of 1073741824 bytes in 'f'
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
define void @f(i64 %n) {
  %p = call ptr @malloc(i64 1073741824)
  br label %loop
loop:
  %i = phi i64 [ 0, %0 ], [ %next, %loop ]
  %k = mul i64 %i, -9223372036854775808
  %q = getelementptr i8, ptr %p, i64 %k
  store i8 1, ptr %q
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
declare ptr @malloc(i64)
