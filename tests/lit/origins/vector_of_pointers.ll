; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: two pointers that one store moves as a vector stay apart. The SLP vectorizer moves neighbouring members of a
; class so (those of a shared_ptr, of a vector).
; RUN: %opt -passes='smalloc-sites,print<smalloc>' -disable-output %s 2>&1 | FileCheck %s
; CHECK: malloc of 80000000 bytes in 'f': base none | no loop of this unit walks it
; CHECK: malloc of 80000000 bytes in 'f': superpage {{.*}}picked at random
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
define i64 @f(ptr %index, i64 %n) {
  %pair = alloca [2 x ptr]
  %unused = call ptr @malloc(i64 80000000)
  %picked = call ptr @malloc(i64 80000000)
  %one = insertelement <2 x ptr> poison, ptr %unused, i64 0
  %both = insertelement <2 x ptr> %one, ptr %picked, i64 1
  store <2 x ptr> %both, ptr %pair
  %again = load <2 x ptr>, ptr %pair
  %second = extractelement <2 x ptr> %again, i64 1
  %first = extractelement <2 x ptr> %again, i64 0
  call void @free(ptr %first)
  br label %loop
loop:
  %i = phi i64 [ 0, %0 ], [ %in, %loop ]
  %s = phi i64 [ 0, %0 ], [ %sn, %loop ]
  %ip = getelementptr i64, ptr %index, i64 %i
  %at = load i64, ptr %ip
  %p = getelementptr i64, ptr %second, i64 %at
  %x = load i64, ptr %p
  %sn = add i64 %s, %x
  %in = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %in, %n
  br i1 %more, label %loop, label %done
done:
  call void @free(ptr %second)
  ret i64 %sn
}
declare ptr @malloc(i64)
declare void @free(ptr)
