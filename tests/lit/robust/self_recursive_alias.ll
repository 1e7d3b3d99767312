; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: aliases of functions, and functions that return themselves, are survived.
; RUN: %opt -passes='print<smalloc>,smalloc' -verify-each -disable-output %s 2>&1 | FileCheck %s
; CHECK: malloc of n bytes in 'f'
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
@again = internal alias ptr (i64), ptr @f
@table = internal global [2 x ptr] [ptr @f, ptr @again]
define internal ptr @f(i64 %n) {
  %z = icmp eq i64 %n, 0
  br i1 %z, label %yes, label %no
yes:
  %p = call ptr @malloc(i64 %n)
  ret ptr %p
no:
  %m = sub i64 %n, 1
  %q = call ptr @again(i64 %m)
  ret ptr %q
}
define ptr @g(i64 %n) {
  %p = call ptr @again(i64 %n)
  ret ptr %p
}
declare ptr @malloc(i64)
