; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: running the pass twice changes nothing more.
; RUN: %opt -smalloc-heap=superpage -passes='smalloc' -verify-each -S %s -o %t.once
; RUN: %opt -smalloc-heap=superpage -passes='smalloc,smalloc' -verify-each -S %s -o %t.twice
; RUN: %opt -smalloc-heap=superpage -passes='smalloc' -verify-each -S %t.once -o %t.again
; RUN: diff %t.once %t.twice
; RUN: FileCheck %s < %t.once
; RUN: FileCheck %s < %t.again
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
define ptr @f(i64 %n) {
; CHECK: call {{.*}}@__smalloc_v1_thunk_malloc(i64 %n, ptr @{{[^ ,]*}}.cell)
  %r = call ptr @malloc(i64 %n)
  ret ptr %r
}
declare ptr @malloc(i64)
