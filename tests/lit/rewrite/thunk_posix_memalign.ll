; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: a steered posix_memalign asks the runtime's posix_memalign entry and falls back to posix_memalign itself.
; RUN: %opt -smalloc-heap=superpage -passes='smalloc,verify' -verify-each -S %s | FileCheck %s
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

; CHECK-LABEL: define i32 @f(
; CHECK: call {{.*}}i32 @__smalloc_v1_thunk_posix_memalign(ptr %p, i64 64, i64 %n, ptr @__smalloc_v1_site_{{.*}}.cell)
define i32 @f(i64 %m, i64 %n, ptr %p) {
  %r = call i32 @posix_memalign(ptr %p, i64 64, i64 %n)
  ret i32 %r
}
declare i32 @posix_memalign(ptr, i64, i64)

; CHECK: define linkonce_odr hidden i32 @__smalloc_v1_thunk_posix_memalign(ptr %0, i64 %1, i64 %2, ptr %3) {{.*}} comdat
; CHECK: load atomic i64, ptr %3 monotonic, align 8
; CHECK: icmp ne ptr @__smalloc_v1_posix_memalign, null
; CHECK: %[[R:.*]] = call i32 @__smalloc_v1_posix_memalign(ptr %0, i64 %1, i64 %2, ptr %3)
; CHECK-NEXT: icmp ne i32 %[[R]], -1
; CHECK: %[[OWN:.*]] = tail call i32 @posix_memalign(ptr %0, i64 %1, i64 %2)
; CHECK-NEXT: ret i32 %[[OWN]]
; CHECK: declare extern_weak i32 @__smalloc_v1_posix_memalign(
