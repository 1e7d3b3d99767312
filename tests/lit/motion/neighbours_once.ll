; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: a[i-1], a[i] and a[i+1] are one reference: two pages of reach, not four.
; RUN: %opt -smalloc-machine=core2 -smalloc-model=paper -passes='print<smalloc>' -disable-output %s 2>&1 | FileCheck %s
; 262144 bytes are 64 pages; the threshold of core2 is 65. Counted three times it would pass.
; CHECK: malloc of 262144 bytes in 'f': base streaming spread=64
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
define double @f() {
  %a = call ptr @malloc(i64 262144)
  br label %loop
loop:
  %i = phi i64 [ 0, %0 ], [ %next, %loop ]
  %s = phi double [ 0.0, %0 ], [ %s3, %loop ]
  %q = getelementptr double, ptr %a, i64 %i
  %p = getelementptr i8, ptr %q, i64 -8
  %r = getelementptr i8, ptr %q, i64 8
  %x = load double, ptr %p
  %y = load double, ptr %q
  %z = load double, ptr %r
  %s1 = fadd double %s, %x
  %s2 = fadd double %s1, %y
  %s3 = fadd double %s2, %z
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, 32768
  br i1 %more, label %loop, label %done
done:
  ret double %s3
}
declare ptr @malloc(i64)
