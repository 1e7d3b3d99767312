; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: units for the link keep their calls of thunks, which become guards in the link's last phase. The flag is what clang
; and flang put into such a unit, and all that LLVM 19 knows of the phase.
; RUN: %opt -passes='lto-pre-link<O2>' -S %s | FileCheck --check-prefix=KEPT %s
; RUN: %opt -passes='thinlto-pre-link<O2>' -S %s | FileCheck --check-prefix=KEPT %s
; KEPT-NOT: touch_{{waiting|counting}}
; KEPT: call void @__smalloc_v1_touch(
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
declare void @__smalloc_v1_touch(ptr, i64)
define void @f(ptr %p, ptr %to, i64 %n) {
  %used = add i64 %n, 1
  call void @__smalloc_v1_touch(ptr %p, i64 %used)
  %kept = add i64 %n, 2
  call void @__smalloc_v1_touch(ptr %p, i64 %kept)
  store i64 %kept, ptr %to
  ret void
}
define void @for_size(ptr %p) optsize {
  call void @__smalloc_v1_touch(ptr %p, i64 1)
  ret void
}
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"ThinLTO", i32 0}
