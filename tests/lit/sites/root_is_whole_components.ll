; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: root=/tree does not cut the path of /tree2.
; RUN: sed 's,SOURCE,/tree2/a.c,' %s > %t.one.ll
; RUN: sed 's,SOURCE,/tree/2/a.c,' %s > %t.two.ll
; RUN: %opt -smalloc-root=/tree -passes=smalloc-sites -S %t.one.ll | grep -o '"smalloc-site"="[0-9a-f]*"' > %t.one
; RUN: %opt -smalloc-root=/tree -passes=smalloc-sites -S %t.two.ll | grep -o '"smalloc-site"="[0-9a-f]*"' > %t.two
; RUN: not diff %t.one %t.two
source_filename = "SOURCE"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
define ptr @f(i64 %n) {
  %r = call ptr @malloc(i64 %n)
  ret ptr %r
}
declare ptr @malloc(i64)
