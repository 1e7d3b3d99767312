; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: analyses that know a call do not outlive it, where a late call without a prototype is replaced by one with
; a prototype, and the site is not steerable.
; RUN: %opt -passes='function(require<memoryssa>),smalloc' -debug-pass-manager -S %s 2>&1 | FileCheck %s
; CHECK: Running analysis: MemorySSAAnalysis on late
; CHECK: Invalidating analysis: MemorySSAAnalysis on late
; CHECK-LABEL: define void @late(
; CHECK: call ptr @malloc(i64 8)
target triple = "x86_64-unknown-linux-gnu"
declare ptr @malloc(...)
define void @late(i8 %x) {
  %r = call ptr (i16, ...) @malloc(i16 8)
  store volatile i8 %x, ptr %r
  ret void
}
