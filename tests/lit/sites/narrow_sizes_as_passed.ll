; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: a narrow size is extended as the calling convention passes it.
; RUN: %opt -passes=smalloc-sites -S %s | FileCheck %s --check-prefixes=CHECK,CLEARS
; RUN: sed 's/x86_64/aarch64/' %s | %opt -passes=smalloc-sites -S | FileCheck %s --check-prefixes=CHECK,CLEARS
; RUN: sed 's/x86_64/riscv64/' %s | %opt -passes=smalloc-sites -S | FileCheck %s --check-prefixes=CHECK,KEEPS
target triple = "x86_64-unknown-linux-gnu"
declare ptr @malloc(...)
; CHECK-LABEL: @narrow(
; CHECK: zext i16 %n to i64
define ptr @narrow(i16 %n) {
  %r = call ptr (i16, ...) @malloc(i16 %n)
  ret ptr %r
}
; CHECK-LABEL: @zero(
; CHECK: zext i8 %n to i64
; CHECK-NOT: zeroext
define ptr @zero(i8 %n) {
  %r = call ptr (i8, ...) @malloc(i8 zeroext %n)
  ret ptr %r
}
; CHECK-LABEL: @sign(
; CLEARS: %[[HALF:.*]] = sext i8 %n to i32
; CLEARS: zext i32 %[[HALF]] to i64
; KEEPS: sext i8 %n to i64
define ptr @sign(i8 %n) {
  %r = call ptr (i8, ...) @malloc(i8 signext %n)
  ret ptr %r
}
; CHECK-LABEL: @sign_32(
; CLEARS: zext i32 %n to i64
; KEEPS: sext i32 %n to i64
define ptr @sign_32(i32 %n) {
  %r = call ptr (i32, ...) @malloc(i32 signext %n)
  ret ptr %r
}
