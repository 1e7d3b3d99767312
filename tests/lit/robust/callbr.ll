; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: asm goto and indirect branches around an allocation are survived.
; RUN: %opt -smalloc-heap=superpage -passes='print<smalloc>,smalloc' -verify-each -disable-output %s 2>&1 | FileCheck %s
; CHECK: malloc of n bytes in 'f'
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
define void @f(i64 %n, ptr %where) {
  %p = call ptr @malloc(i64 %n)
  callbr void asm sideeffect "", "r,!i"(ptr %p) to label %a [label %b]
a:
  store i8 1, ptr %p
  indirectbr ptr %where, [label %a, label %b]
b:
  ret void
}
declare ptr @malloc(i64)
