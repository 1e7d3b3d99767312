; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: inline assembly that calls malloc or takes the pointer is no site, and is an escape.
; RUN: %opt -passes='print<smalloc>,smalloc' -verify-each -disable-output %s 2>&1 | FileCheck %s
; CHECK: malloc of n bytes in 'f': runtime unknown{{.*}} escapes undecided
; CHECK-NOT: malloc of
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
define void @f(i64 %n) {
  %p = call ptr @malloc(i64 %n)
  call void asm sideeffect "", "r,~{memory}"(ptr %p)
  %q = call ptr asm "call malloc", "={rax},{rdi}"(i64 %n)
  ret void
}
declare ptr @malloc(i64)
