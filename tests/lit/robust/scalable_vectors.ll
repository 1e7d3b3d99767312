; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: scalable vectors, whose size is a multiple of vscale, are survived.
; RUN: %opt -passes='print<smalloc>,smalloc' -verify-each -disable-output %s 2>&1 | FileCheck %s
; CHECK: malloc of n bytes in 'f'
target triple = "aarch64-unknown-linux-gnu"
define void @f(i64 %n) vscale_range(1,16) {
  %p = call ptr @malloc(i64 %n)
  %vs = call i64 @llvm.vscale.i64()
  %step = mul i64 %vs, 4
  br label %loop
loop:
  %i = phi i64 [ 0, %0 ], [ %next, %loop ]
  %q = getelementptr float, ptr %p, i64 %i
  %x = load <vscale x 4 x float>, ptr %q
  %y = fadd <vscale x 4 x float> %x, %x
  store <vscale x 4 x float> %y, ptr %q
  %r = getelementptr <vscale x 4 x float>, ptr %p, i64 %i
  store <vscale x 4 x float> %y, ptr %r
  %next = add i64 %i, %step
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
declare ptr @malloc(i64)
declare i64 @llvm.vscale.i64()
