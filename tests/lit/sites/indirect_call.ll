; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: an indirect call is never taken for a site.
; RUN: %opt -passes=smalloc-sites -S %s | FileCheck %s
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
; CHECK-NOT: smalloc-site
define ptr @f(ptr %g, i64 %n) {
  %r = call ptr %g(i64 %n)
  ret ptr %r
}
declare ptr @malloc(i64)
