; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: no point gets a pointer of another address space, neither of a memset nor of a place in an array whose
; address was cast.
; RUN: %opt -passes=smalloc -verify-each -S %s | FileCheck %s
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
; CHECK-LABEL: define void @cleared(
; CHECK-NEXT: call void @llvm.memset
; CHECK-NEXT: ret void
define void @cleared(ptr addrspace(256) %a, i64 %n) {
  call void @llvm.memset.p256.i64(ptr addrspace(256) %a, i8 0, i64 %n, i1 false)
  ret void
}
; CHECK-LABEL: define double @picked(
; CHECK-NOT: call void @__smalloc_v1_touch({{.*}}addrspace
; CHECK: ret double
define double @picked(ptr addrspace(256) %a, ptr %index, i64 %m) {
entry:
  %b = addrspacecast ptr addrspace(256) %a to ptr
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %s = phi double [ 0.0, %entry ], [ %s1, %loop ]
  %w = phi ptr [ %b, %entry ], [ %p, %loop ]
  %at = getelementptr i32, ptr %index, i64 %i
  %k = load i32, ptr %at
  %kx = sext i32 %k to i64
  %p = getelementptr double, ptr %w, i64 %kx
  %x = load double, ptr %p
  %s1 = fadd double %s, %x
  %next = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %next, %m
  br i1 %more, label %loop, label %done
done:
  ret double %s1
}
declare void @llvm.memset.p256.i64(ptr addrspace(256), i8, i64, i1)
