; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: a pointer that went through integers, tags and all, may come from anywhere, and escapes.
; RUN: %opt -passes='print<smalloc>,smalloc' -verify-each -disable-output %s 2>&1 | FileCheck %s
; CHECK: malloc of n bytes in 'stored': runtime unknown{{.*}} escapes undecided
; CHECK: malloc of n bytes in 'returned': runtime unknown{{.*}} escapes undecided
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
define void @stored(i64 %n, ptr %out) {
  %p = call ptr @malloc(i64 %n)
  %i = ptrtoint ptr %p to i64
  %t = or i64 %i, 1
  store i64 %t, ptr %out
  ret void
}
define i64 @returned(i64 %n) {
  %p = call ptr @malloc(i64 %n)
  %i = ptrtoint ptr %p to i64
  %t = xor i64 %i, -1
  ret i64 %t
}
declare ptr @malloc(i64)
