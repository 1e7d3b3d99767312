; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: a pointer that grows in a cycle through memory does not grow the analysis without bound.
; RUN: timeout 20 %rawopt -load-pass-plugin=%plugin -passes='print<smalloc>,smalloc' -verify-each -disable-output %s 2>&1 | FileCheck %s
; CHECK: malloc of n bytes in 'f'
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
@cursor = internal global ptr null
define void @f(i64 %n) {
  %p = call ptr @malloc(i64 %n)
  store ptr %p, ptr @cursor
  br label %loop
loop:
  %a = load ptr, ptr @cursor
  %b = getelementptr i8, ptr %a, i64 24
  store ptr %b, ptr @cursor
  store ptr %b, ptr %a
  %c = load ptr, ptr %b
  store ptr %c, ptr @cursor
  %more = icmp ne ptr %c, null
  br i1 %more, label %loop, label %done
done:
  ret void
}
declare ptr @malloc(i64)
