; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: the plugin loads into opt, where there is no clang.
; RUN: %rawopt -load-pass-plugin=%plugin -passes='default<O2>' -S %s | FileCheck %s
; CHECK: @__smalloc_v1_thunk_malloc(
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
define ptr @f(i64 %n) {
  %r = call ptr @malloc(i64 %n)
  ret ptr %r
}
declare ptr @malloc(i64)
