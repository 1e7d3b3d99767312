; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: numbering twice gives the same ids, and late sites never get the id of an early one.
; RUN: %opt -passes=smalloc-sites -S %s | grep -o '"smalloc-site"="[0-9a-f]*"' > %t.once
; RUN: %opt -passes='smalloc-sites,smalloc-sites' -S %s | grep -o '"smalloc-site"="[0-9a-f]*"' > %t.twice
; RUN: diff %t.once %t.twice
; RUN: %opt -smalloc-rewrite=all -passes='smalloc' -S %s | grep -o '"smalloc-site"="[0-9a-f]*"' > %t.late
; RUN: not diff %t.once %t.late
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
define ptr @f(i64 %n) {
  %r = call ptr @malloc(i64 %n)
  ret ptr %r
}
declare ptr @malloc(i64)
