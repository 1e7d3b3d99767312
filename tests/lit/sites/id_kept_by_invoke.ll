; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: a site keeps its id when inlining turns its call into an invoke.
; RUN: %opt -passes='smalloc-sites,cgscc(inline)' -S %s | FileCheck %s
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
; CHECK-LABEL: define void @caller(
; CHECK: invoke ptr @_Znwm(i64 8) #[[SITE:[0-9]+]]
define internal ptr @make() {
  %r = call ptr @_Znwm(i64 8)
  ret ptr %r
}
define void @caller() personality ptr @__gxx_personality_v0 {
  %p = invoke ptr @make() to label %done unwind label %caught
done:
  call void @use(ptr %p)
  ret void
caught:
  %l = landingpad { ptr, i32 } catch ptr null
  ret void
}
declare void @use(ptr)
declare ptr @_Znwm(i64)
declare i32 @__gxx_personality_v0(...)
; CHECK: attributes #[[SITE]] = { "smalloc-function"="make" "smalloc-site"=
