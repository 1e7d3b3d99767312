; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: a small request of a site that the runtime has marked takes one load and one branch to the
; heap's allocation, which it hands malloc for what that declines: the thunk ends in a jump and looks at no result.
; RUN: %opt -smalloc-heap=superpage -passes='smalloc,verify' -verify-each -S %s | FileCheck %s
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

define ptr @f(i64 %n) {
  %r = call ptr @malloc(i64 %n)
  ret ptr %r
}
define ptr @g(i64 %n) {
  %r = call ptr @calloc(i64 %n, i64 8)
  ret ptr %r
}
declare noalias ptr @malloc(i64)
declare noalias ptr @calloc(i64, i64)

; CHECK-LABEL: define linkonce_odr hidden ptr @__smalloc_v1_thunk_malloc(
; CHECK: %word = load atomic i64, ptr %1 monotonic
; CHECK-NEXT: %[[FLAG:.*]] = and i64 %word, 1073741824
; CHECK-NEXT: %[[MARKED:.*]] = icmp ne i64 %[[FLAG]], 0
; CHECK-NEXT: br i1 %[[MARKED]], label %[[DIRECT:.*]], label %[[NEXT:.*]]{{$}}
; CHECK: [[DIRECT]]:
; CHECK-NEXT: tail call ptr @__smalloc_v1_small(i64 %0, ptr %1, ptr @malloc, ptr poison)
; CHECK: [[NEXT]]:
; CHECK-NEXT: and i64 %word, 536870912
; CHECK: tail call ptr @__smalloc_v1_joining(i64 %0, ptr %1, ptr @malloc, ptr poison)

; The program's new may throw out of it.
; CHECK: declare extern_weak ptr @__smalloc_v1_small(i64, ptr, ptr, ptr) #[[SMALL:[0-9]+]]

; Only a plain number of bytes can be direct.
; CHECK-LABEL: define linkonce_odr hidden ptr @__smalloc_v1_thunk_calloc(
; CHECK-NOT: 1073741824
; CHECK-LABEL: define linkonce_odr hidden ptr @__smalloc_v1_calloc_or_calloc(
; CHECK-NOT: attributes #[[SMALL]] = {{.*}}nounwind
