; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: a steered aligned_alloc asks the runtime's aligned_alloc entry and falls back to aligned_alloc itself.
; RUN: %opt -smalloc-heap=superpage -passes='smalloc,verify' -verify-each -S %s | FileCheck %s
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

; CHECK-LABEL: define ptr @f(
; CHECK: call {{.*}}ptr @__smalloc_v1_thunk_aligned_alloc(i64 64, i64 %n, ptr @__smalloc_v1_site_{{.*}}.cell)
define ptr @f(i64 %m, i64 %n, ptr %p) {
  %r = call ptr @aligned_alloc(i64 64, i64 %n)
  ret ptr %r
}
declare noalias ptr @aligned_alloc(i64, i64)

; CHECK: define linkonce_odr hidden ptr @__smalloc_v1_thunk_aligned_alloc(i64 %0, i64 %1, ptr %2) {{.*}} comdat
; CHECK: load atomic i64, ptr %2 monotonic, align 8
; CHECK: icmp ne ptr @__smalloc_v1_aligned_alloc, null
; CHECK: %[[R:.*]] = call ptr @__smalloc_v1_aligned_alloc(i64 %0, i64 %1, ptr %2)
; CHECK-NEXT: icmp ne ptr %[[R]], null
; CHECK: %[[OWN:.*]] = tail call ptr @aligned_alloc(i64 %0, i64 %1)
; CHECK-NEXT: ret ptr %[[OWN]]
; CHECK: declare extern_weak ptr @__smalloc_v1_aligned_alloc(
