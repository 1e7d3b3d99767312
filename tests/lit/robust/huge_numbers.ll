; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: sizes, strides and trip counts at the edges of 64 bits do not overflow into nonsense.
; RUN: %opt -passes='print<smalloc>,smalloc' -verify-each -disable-output %s 2>&1 | FileCheck %s
; RUN: %opt -smalloc-model=paper -passes='print<smalloc>,smalloc' -verify-each -disable-output %s
; CHECK: malloc of 9223372036854775807 bytes in 'f'
; CHECK: calloc of n*9223372036854775807 bytes in 'f'
; CHECK: malloc of 18446744073709551614 bytes in 'f'
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
define void @f() {
  %p = call ptr @malloc(i64 9223372036854775807)
  %z = call ptr @calloc(i64 9223372036854775807, i64 9223372036854775807)
  %m = call ptr @malloc(i64 -2)
  br label %loop
loop:
  %i = phi i64 [ 0, %0 ], [ %next, %loop ]
  %q = getelementptr i8, ptr %p, i64 %i
  store i8 1, ptr %q
  %r = getelementptr [4611686018427387904 x i8], ptr %z, i64 %i
  store i8 1, ptr %r
  %s = getelementptr [9223372036854775807 x i8], ptr %m, i64 %i
  store i8 1, ptr %s
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, -1
  br i1 %more, label %loop, label %done
done:
  ret void
}
declare ptr @malloc(i64)
declare ptr @calloc(i64, i64)
