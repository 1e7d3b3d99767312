; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: a call whose function type differs from malloc's declaration is left alone.
; RUN: %opt -smalloc-heap=superpage -passes='smalloc-sites,smalloc' -verify-each -S %s | FileCheck %s
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
; CHECK-NOT: smalloc-site
; CHECK: call ptr (i64, ...) @malloc(i64 %n)
define ptr @f(i64 %n) {
  %r = call ptr (i64, ...) @malloc(i64 %n)
  ret ptr %r
}
declare ptr @malloc(i64)
