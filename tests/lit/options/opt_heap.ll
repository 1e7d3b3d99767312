; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: -smalloc-heap in opt is the twin of the clang option, with the same errors.
; RUN: %opt -smalloc-heap=superpage -passes='print<smalloc>' -disable-output %s 2>&1 | FileCheck %s
; RUN: not %opt -smalloc-heap=huge -passes='print<smalloc>' -disable-output %s 2>&1 | FileCheck --check-prefix=ERROR %s
; CHECK: malloc of 10 bytes in 'f': superpage none min=0 rewritten
; ERROR: smalloc: error: invalid value 'huge' of plugin option 'heap': expected auto, off, superpage, migrate or guest
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
define void @f() {
  %r = call ptr @malloc(i64 10)
  ret void
}
declare ptr @malloc(i64)
