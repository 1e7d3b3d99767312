; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: an irreducible cycle is no loop, and is survived.
; RUN: %opt -passes='print<smalloc>,smalloc' -verify-each -disable-output %s 2>&1 | FileCheck %s
; CHECK: malloc of n bytes in 'f'
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
define void @f(i64 %n, i1 %c) {
  %p = call ptr @malloc(i64 %n)
  br i1 %c, label %a, label %b
a:
  %i = phi i64 [ 0, %0 ], [ %k, %b ]
  %q = getelementptr i8, ptr %p, i64 %i
  store i8 1, ptr %q
  %j = add i64 %i, 4096
  br label %b
b:
  %m = phi i64 [ 1, %0 ], [ %j, %a ]
  %k = add i64 %m, 8
  %more = icmp ult i64 %k, %n
  br i1 %more, label %a, label %done
done:
  ret void
}
declare ptr @malloc(i64)
