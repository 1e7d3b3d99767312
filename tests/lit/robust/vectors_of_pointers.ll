; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: vectors of pointers, with gathers and scatters of them, are survived; the object escapes into them safely.
; RUN: %opt -passes='print<smalloc>,smalloc' -verify-each -disable-output %s 2>&1 | FileCheck %s
; CHECK: malloc of n bytes in 'f'
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
define <4 x double> @f(i64 %n, <4 x i64> %k, <4 x i1> %m, ptr %out) {
  %p = call ptr @malloc(i64 %n)
  %b = insertelement <4 x ptr> poison, ptr %p, i32 0
  %v = shufflevector <4 x ptr> %b, <4 x ptr> poison, <4 x i32> zeroinitializer
  br label %loop
loop:
  %i = phi <4 x i64> [ %k, %0 ], [ %next, %loop ]
  %q = getelementptr double, <4 x ptr> %v, <4 x i64> %i
  %x = call <4 x double> @llvm.masked.gather.v4f64.v4p0(<4 x ptr> %q, i32 8, <4 x i1> %m, <4 x double> zeroinitializer)
  call void @llvm.masked.scatter.v4f64.v4p0(<4 x double> %x, <4 x ptr> %q, i32 8, <4 x i1> %m)
  store <4 x ptr> %q, ptr %out
  %next = add <4 x i64> %i, splat (i64 512)
  %e = extractelement <4 x i64> %next, i32 0
  %more = icmp ult i64 %e, %n
  br i1 %more, label %loop, label %done
done:
  ret <4 x double> %x
}
declare ptr @malloc(i64)
declare <4 x double> @llvm.masked.gather.v4f64.v4p0(<4 x ptr>, i32, <4 x i1>, <4 x double>)
declare void @llvm.masked.scatter.v4f64.v4p0(<4 x double>, <4 x ptr>, i32, <4 x i1>)
