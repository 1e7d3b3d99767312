; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: pointers of other address spaces, with other sizes, are survived.
; RUN: %opt -passes='print<smalloc>,smalloc' -verify-each -disable-output %s 2>&1 | FileCheck %s
; CHECK: malloc of n bytes in 'f'
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128-ni:7"
target triple = "x86_64-unknown-linux-gnu"
define void @f(i64 %n, ptr addrspace(270) %a, ptr addrspace(7) %b, ptr addrspace(256) %gs) {
  %p = call ptr @malloc(i64 %n)
  %c = addrspacecast ptr %p to ptr addrspace(270)
  br label %loop
loop:
  %i = phi i64 [ 0, %0 ], [ %next, %loop ]
  %j = trunc i64 %i to i32
  %q = getelementptr i8, ptr addrspace(270) %a, i32 %j
  store i8 1, ptr addrspace(270) %q
  %r = getelementptr i8, ptr addrspace(7) %b, i64 %i
  %v = load i8, ptr addrspace(7) %r
  %s = getelementptr i8, ptr addrspace(270) %c, i32 %j
  store i8 %v, ptr addrspace(270) %s
  %t = getelementptr i8, ptr addrspace(256) %gs, i64 %i
  store i8 %v, ptr addrspace(256) %t
  %next = add i64 %i, 8192
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
declare ptr @malloc(i64)
