; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: a call that takes an allocation's place carries all that was on it, and so does the one that a link puts back
; and rewrites again: operand bundles, kind of tail call, metadata, name and users.
; RUN: %opt -smalloc-heap=superpage -passes='smalloc-sites,smalloc' -verify-each -S %s | FileCheck %s
; RUN: %opt -smalloc-heap=superpage -passes='smalloc-sites,smalloc<link>,smalloc-link' -verify-each -S %s | FileCheck %s
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
; CHECK-LABEL: define ptr @plain(
; CHECK: %kept = notail call noalias ptr @__smalloc_v1_thunk_malloc(i64 %n, ptr @{{.*}}cell) #{{[0-9]+}} [ "deopt"(i32 7) ], !annotation ![[MARK:[0-9]+]]
; CHECK: ret ptr %kept
define ptr @plain(i64 %n) {
  %kept = notail call ptr @malloc(i64 %n) [ "deopt"(i32 7) ], !annotation !0
  ret ptr %kept
}
; CHECK-LABEL: define ptr @unwinding(
; CHECK: %kept = invoke {{.*}}ptr @__smalloc_v1_thunk__Znwm(i64 %n, ptr @{{.*}}cell) #{{[0-9]+}} [ "deopt"(i32 8) ]
; CHECK-NEXT: to label %done unwind label %failed, !annotation ![[MARK]]
; CHECK: ret ptr %kept
define ptr @unwinding(i64 %n) personality ptr @__gxx_personality_v0 {
  %kept = invoke ptr @_Znwm(i64 %n) [ "deopt"(i32 8) ] to label %done unwind label %failed, !annotation !0
done:
  ret ptr %kept
failed:
  %p = landingpad { ptr, i32 } cleanup
  resume { ptr, i32 } %p
}
; CHECK: ![[MARK]] = !{!"carried"}
!0 = !{!"carried"}
declare ptr @malloc(i64)
declare ptr @_Znwm(i64)
declare i32 @__gxx_personality_v0(...)
