; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: calls of _ZnwmSt11align_val_t are numbered as allocation sites.
; RUN: %opt -passes=smalloc-sites -S %s | FileCheck %s
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

; CHECK: call ptr @_ZnwmSt11align_val_t(i64 %n, i64 64) #[[SITE:[0-9]+]]
define ptr @f(i64 %m, i64 %n, ptr %p) {
  %r = call ptr @_ZnwmSt11align_val_t(i64 %n, i64 64)
  ret ptr %r
}
declare noalias ptr @_ZnwmSt11align_val_t(i64, i64)
; CHECK: attributes #[[SITE]] = { "smalloc-function"="f" "smalloc-site"="{{([0-9a-f]{16})}}" }
