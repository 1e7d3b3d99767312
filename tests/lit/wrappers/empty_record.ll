; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: a link whose module has a record without fields (the linker leaves zeros, or poison, of what nobody
; reads) goes on, and leaves one under that name which fits no function.
; RUN: %opt -passes='smalloc-link,verify' -S %s | FileCheck %s
; RUN: sed 's/zeroinitializer/poison/' %s | %opt -passes='smalloc-link,verify' -S - | FileCheck %s
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

; CHECK: @__smalloc_v1_wrapper_xmalloc = weak hidden constant { ptr, ptr } zeroinitializer
; CHECK: define ptr @xmalloc(i64 %n)
@__smalloc_v1_wrapper_xmalloc = weak hidden constant { ptr, ptr } zeroinitializer

define ptr @xmalloc(i64 %n) {
  %p = call ptr @malloc(i64 %n)
  ret ptr %p
}
declare noalias ptr @malloc(i64)

!smalloc.done = !{}
!smalloc.options = !{!0}
!0 = !{!"heap=guest"}
