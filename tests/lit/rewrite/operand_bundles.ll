; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: operand bundles of a call survive.
; RUN: %opt -smalloc-heap=superpage -passes='smalloc' -verify-each -S %s | FileCheck %s
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
define ptr @f(i64 %n) {
; CHECK: call ptr @__smalloc_v1_thunk__Znwm(i64 %n, ptr @{{.*}}.cell) #{{[0-9]+}} [ "deopt"(i32 7) ]
  %r = call ptr @_Znwm(i64 %n) [ "deopt"(i32 7) ]
  ret ptr %r
}
declare ptr @_Znwm(i64)
