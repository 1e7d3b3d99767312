; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: a function called malloc with another prototype is not an allocation.
; RUN: %opt -smalloc-heap=superpage -passes='smalloc-sites,smalloc' -verify-each -S %s | FileCheck %s
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
; CHECK-NOT: smalloc-site
; CHECK: call i32 @malloc(ptr %p, i64 %n)
define i32 @f(ptr %p, i64 %n) {
  %r = call i32 @malloc(ptr %p, i64 %n)
  ret i32 %r
}
declare i32 @malloc(ptr, i64)
