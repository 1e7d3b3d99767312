; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: the thunk compares the size in pages, rounded up, with the cell's least number of pages.
; RUN: %opt -smalloc-heap=superpage -passes='smalloc' -verify-each -S %s | FileCheck %s
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
define ptr @f(i64 %n) {
  %r = call ptr @malloc(i64 %n)
  ret ptr %r
}
declare ptr @malloc(i64)
; CHECK: define linkonce_odr hidden ptr @__smalloc_v1_thunk_malloc(
; CHECK: %[[UPPER:.*]] = lshr i64 %word, 20
; CHECK-NEXT: %[[LEAST:.*]] = and i64 %[[UPPER]], -4096
; CHECK-NEXT: %[[MOST:.*]] = add i64 %0, 4095
; CHECK-NEXT: icmp uge i64 %[[MOST]], %[[LEAST]]
