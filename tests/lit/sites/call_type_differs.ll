; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: it is a call's types that count, whatever the unit declares, as where a link merges units that differ.
; RUN: %opt -smalloc-heap=superpage -passes='smalloc-sites,smalloc' -verify-each -S %s | FileCheck %s
; RUN: sed 's/@malloc(i64)/@malloc(i32)/' %s | %opt -smalloc-heap=superpage -passes='smalloc-sites,smalloc' -verify-each -S | FileCheck %s
; RUN: sed 's/@malloc(i64)/@malloc(...)/' %s | %opt -smalloc-heap=superpage -passes='smalloc-sites,smalloc' -verify-each -S | FileCheck %s
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
; CHECK-LABEL: @unprototyped(
; CHECK: call {{.*}}ptr @__smalloc_v1_thunk_malloc(i64 %n, ptr @
define ptr @unprototyped(i64 %n) {
  %r = call ptr (i64, ...) @malloc(i64 %n)
  ret ptr %r
}
; CHECK-LABEL: @prototyped(
; CHECK: call {{.*}}ptr @__smalloc_v1_thunk_malloc(i64 %n, ptr @
define ptr @prototyped(i64 %n) {
  %r = call ptr @malloc(i64 %n)
  ret ptr %r
}
; CHECK-LABEL: @narrow(
; CHECK: %[[SIZE:.*]] = zext i32 %n to i64
; CHECK: call {{.*}}ptr @__smalloc_v1_thunk_malloc(i64 %[[SIZE]], ptr @
define ptr @narrow(i32 %n) {
  %r = call ptr (i32) @malloc(i32 %n)
  ret ptr %r
}
; CHECK-LABEL: @other(
; CHECK: call ptr @malloc(double %n)
define ptr @other(double %n) {
  %r = call ptr (double) @malloc(double %n)
  ret ptr %r
}
; CHECK: define {{.*}}ptr @__smalloc_v1_thunk_malloc(i64 %0, ptr %1)
declare ptr @malloc(i64)
