; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: a header phi that merges the object with a pointer moved backwards is survived.
; RUN: %opt -passes='print<smalloc>,smalloc' -verify-each -disable-output %s 2>&1 | FileCheck %s
; CHECK: malloc of n bytes in 'f'
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
define void @f(i64 %n) {
  %p = call ptr @malloc(i64 %n)
  br label %loop
loop:
  %a = phi ptr [ %p, %0 ], [ %b, %loop ]
  %b = getelementptr i8, ptr %a, i64 -4096
  store ptr %a, ptr %b
  %more = icmp ne ptr %b, null
  br i1 %more, label %loop, label %done
done:
  ret void
}
declare ptr @malloc(i64)
