; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: of two pointers that one store writes as a vector, each flows to its own place, and to no other.
; RUN: rm -rf %t && %opt -passes='smalloc-sites,smalloc' -smalloc-coverage=%t -disable-output %s && cat %t/*.json | FileCheck %s
; CHECK: "flows": [
; CHECK: "[[FIRST:[0-9a-f]+]]",
; CHECK-NEXT: "[[PAIR:[0-9a-f]+]]",
; CHECK-NEXT: 0
; CHECK: "[[SECOND:[0-9a-f]+]]",
; CHECK-NOT: "[[PAIR]]"
; CHECK-NEXT: "{{[0-9a-f]+}}",
; CHECK-NEXT: 0
; CHECK-NEXT: ]
; CHECK-NEXT: ],
; CHECK: "sites": [
; CHECK-DAG: "[[FIRST]]"
; CHECK-DAG: "[[SECOND]]"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
@pair = global [2 x ptr] zeroinitializer
define void @f(i64 %n) {
  %a = call ptr @malloc(i64 %n)
  %b = call ptr @malloc(i64 %n)
  %one = insertelement <2 x ptr> poison, ptr %a, i64 0
  %both = insertelement <2 x ptr> %one, ptr %b, i64 1
  store <2 x ptr> %both, ptr @pair
  ret void
}
declare ptr @malloc(i64)
