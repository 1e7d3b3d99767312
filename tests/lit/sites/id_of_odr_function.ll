; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: the id of a site in an ODR function leaves the source path out: the linker keeps any copy.
; RUN: %opt -passes=smalloc-sites -S %s | grep -o '"smalloc-site"="[0-9a-f]*"' > %t.one
; RUN: sed 's/one\.cpp/two.cpp/' %s > %t.ll
; RUN: %opt -passes=smalloc-sites -S %t.ll | grep -o '"smalloc-site"="[0-9a-f]*"' > %t.two
; RUN: diff %t.one %t.two
source_filename = "one.cpp"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
define linkonce_odr ptr @f(i64 %n) {
  %r = call ptr @malloc(i64 %n)
  ret ptr %r
}
define weak_odr ptr @g(i64 %n) {
  %r = call ptr @malloc(i64 %n)
  ret ptr %r
}
declare ptr @malloc(i64)
