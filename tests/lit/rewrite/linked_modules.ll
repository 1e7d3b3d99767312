; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: of two finished modules linked into one, each site keeps its own cell, thunks and record are one.
; RUN: sed 's/@f/@g/; s/one\.c/two.c/' %s > %t.two.ll
; RUN: %opt -smalloc-heap=superpage -passes=smalloc %s -o %t.one.bc
; RUN: %opt -smalloc-heap=superpage -passes=smalloc %t.two.ll -o %t.two.bc
; RUN: llvm-link %t.one.bc %t.two.bc -o %t.bc
; RUN: %opt -smalloc-heap=superpage -passes='lto<O2>' -verify-each -S %t.bc | FileCheck %s
; CHECK-COUNT-2: .cell = internal
; CHECK-NOT: .cell = 
; CHECK: @__smalloc_v1_module = 
; CHECK-NOT: @__smalloc_v1_module.{{[0-9]}}
source_filename = "one.c"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
define ptr @f(i64 %n) {
  %r = call ptr @malloc(i64 %n)
  ret ptr %r
}
declare ptr @malloc(i64)
