; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: calloc's product that overflows counts as the largest size: the program's own calloc refuses it.
; RUN: %opt -smalloc-heap=superpage -passes='smalloc' -verify-each -S %s | FileCheck %s
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
define ptr @f(i64 %n) {
  %r = call ptr @calloc(i64 %n, i64 %n)
  ret ptr %r
}
declare ptr @calloc(i64, i64)
; CHECK: define linkonce_odr hidden ptr @__smalloc_v1_thunk_calloc(
; CHECK: %[[PAIR:.*]] = call { i64, i1 } @llvm.umul.with.overflow.i64(i64 %0, i64 %1)
; CHECK-DAG: %[[TOO:.*]] = extractvalue { i64, i1 } %[[PAIR]], 1
; CHECK-DAG: %[[PRODUCT:.*]] = extractvalue { i64, i1 } %[[PAIR]], 0
; CHECK: select i1 %[[TOO]], i64 -1, i64 %[[PRODUCT]]
