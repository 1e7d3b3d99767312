; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: calls of posix_memalign are numbered as allocation sites.
; RUN: %opt -passes=smalloc-sites -S %s | FileCheck %s
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

; CHECK: call i32 @posix_memalign(ptr %p, i64 64, i64 %n) #[[SITE:[0-9]+]]
define i32 @f(i64 %m, i64 %n, ptr %p) {
  %r = call i32 @posix_memalign(ptr %p, i64 64, i64 %n)
  ret i32 %r
}
declare i32 @posix_memalign(ptr, i64, i64)
; CHECK: attributes #[[SITE]] = { "smalloc-function"="f" "smalloc-site"="{{([0-9a-f]{16})}}" }
