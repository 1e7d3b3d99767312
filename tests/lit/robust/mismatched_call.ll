; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: a call of a function of the unit with other arguments than it has is survived.
; RUN: %opt -passes='print<smalloc>,smalloc' -verify-each -disable-output %s 2>&1 | FileCheck %s
; CHECK: malloc of n bytes in 'g'
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
define internal double @f(ptr %a, i64 %i) {
  %q = getelementptr double, ptr %a, i64 %i
  %x = load double, ptr %q
  ret double %x
}
define double @g(i64 %n) {
  %p = call ptr @malloc(i64 %n)
  %a = call double @f()
  %b = call double (...) @f(ptr %p, ptr %p, ptr %p)
  %c = call double @f(i64 1, ptr %p)
  ret double %b
}
declare ptr @malloc(i64)
