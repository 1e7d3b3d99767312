; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: the analyses of a thunk or a marker that is erased go with it. A new function at its address in memory
; would get them.
; RUN: %opt -passes='function(require<domtree>),smalloc-guards' -debug-pass-manager -disable-output %s 2>&1 | FileCheck %s
; CHECK: Running analysis: DominatorTreeAnalysis on __smalloc_v1_touch
; CHECK: Running analysis: DominatorTreeAnalysis on __smalloc_v1_ask_filling
; CHECK: Clearing all analysis results for: __smalloc_v1_ask_filling
; CHECK: Clearing all analysis results for: __smalloc_v1_touch
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
define linkonce_odr hidden void @__smalloc_v1_touch(ptr %p, i64 %n) noinline {
  ret void
}
define linkonce_odr hidden void @__smalloc_v1_ask_filling(ptr %p, i64 %bytes, i64 %written) noinline {
  ret void
}
define void @f(ptr %p, i64 %n) {
  call void @__smalloc_v1_touch(ptr %p, i64 %n)
  call void @__smalloc_v1_ask_filling(ptr %p, i64 %n, i64 %n)
  ret void
}
