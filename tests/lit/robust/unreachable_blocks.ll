; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: allocations and accesses in unreachable blocks, also ones that use themselves, are survived.
; RUN: %opt -smalloc-heap=superpage -passes='print<smalloc>,smalloc' -verify-each -S %s 2>/dev/null | FileCheck %s
; CHECK: define void @f(
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
define void @f(i64 %n) {
  ret void
dead:
  %p = call ptr @malloc(i64 %n)
  store i8 1, ptr %p
  br label %dead2
dead2:
  %q = getelementptr i8, ptr %q, i64 1
  %v = load i8, ptr %q
  %r = call ptr @malloc(i64 %s)
  %s = add i64 %s, 1
  store i8 %v, ptr %r
  br label %dead2
}
declare ptr @malloc(i64)
