; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: allocations in cleanup funclets are survived.
; RUN: %opt -smalloc-heap=superpage -passes='print<smalloc>,smalloc' -verify-each -disable-output %s
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
define void @f(i64 %n) personality ptr @__CxxFrameHandler3 {
  invoke void @g(ptr null) to label %done unwind label %pad
pad:
  %c = cleanuppad within none []
  %p = call ptr @_Znwm(i64 %n) [ "funclet"(token %c) ]
  call void @g(ptr %p) [ "funclet"(token %c) ]
  cleanupret from %c unwind to caller
done:
  ret void
}
declare void @g(ptr)
declare ptr @_Znwm(i64)
declare i32 @__CxxFrameHandler3(...)
