; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: a module that is instrumented stays as it is when the pass meets it again (LTO).
; RUN: %opt -passes='smalloc-accesses,smalloc-accesses' -verify-each -S %s | FileCheck %s
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
; CHECK-LABEL: define i64 @get(
; CHECK-COUNT-1: @__smalloc_v1_append5(
; CHECK-NOT: @__smalloc_v1_append5(
; CHECK: ret i64
define i64 @get(ptr %p) {
  %x = load i64, ptr %p
  ret i64 %x
}
; CHECK: !smalloc.traced
