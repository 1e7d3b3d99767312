; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: root=DIR makes ids independent of where the tree is checked out.
; RUN: sed 's,SOURCE,/here/tree/src/a.c,' %s > %t.here.ll
; RUN: sed 's,SOURCE,/there/tree/src/a.c,' %s > %t.there.ll
; RUN: %opt -smalloc-root=/here/tree -passes=smalloc-sites -S %t.here.ll | grep -o '"smalloc-site"="[0-9a-f]*"' > %t.one
; RUN: %opt -smalloc-root=/there/tree -passes=smalloc-sites -S %t.there.ll | grep -o '"smalloc-site"="[0-9a-f]*"' > %t.two
; RUN: %opt -smalloc-root=/there -passes=smalloc-sites -S %t.there.ll | grep -o '"smalloc-site"="[0-9a-f]*"' > %t.three
; RUN: diff %t.one %t.two
; RUN: not diff %t.one %t.three
source_filename = "SOURCE"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
define ptr @f(i64 %n) {
  %r = call ptr @malloc(i64 %n)
  ret ptr %r
}
declare ptr @malloc(i64)
