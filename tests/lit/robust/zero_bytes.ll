; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: allocations of no bytes, also no elements of no bytes, are decided without a division by zero.
; RUN: %opt -passes='print<smalloc>,smalloc' -verify-each -disable-output %s 2>&1 | FileCheck %s
; RUN: %opt -smalloc-model=paper -passes='print<smalloc>,smalloc' -verify-each -disable-output %s 2>&1 | FileCheck %s
; CHECK: malloc of 0 bytes in 'f': base
; CHECK: calloc of 0 bytes in 'f': base
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
define void @f(i64 %n) {
  %p = call ptr @malloc(i64 0)
  %z = call ptr @calloc(i64 0, i64 0)
  br label %loop
loop:
  %i = phi i64 [ 0, %0 ], [ %next, %loop ]
  %q = getelementptr i8, ptr %p, i64 %i
  store i8 1, ptr %q
  %r = getelementptr i8, ptr %z, i64 %i
  store i8 1, ptr %r
  %next = add i64 %i, 8192
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
declare ptr @malloc(i64)
declare ptr @calloc(i64, i64)
