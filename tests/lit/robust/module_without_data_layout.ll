; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: a module without target is left alone and survived.
; RUN: %opt -passes='print<smalloc>,smalloc' -verify-each -disable-output %s
define ptr @f(i64 %n) {
  %r = call ptr @malloc(i64 %n)
  ret ptr %r
}
declare ptr @malloc(i64)
