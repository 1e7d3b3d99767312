; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: a procedure's key is the constant slot of a table of bindings, in code of Fortran only: other integers that are
; called have no key. The object has none; an argument in its place, of a procedure without an object (NOPASS), has one.
; RUN: %opt -passes='smalloc-sites,smalloc' -o %t.bc %s && %rawclang -w -c -o %t.o %t.bc
; RUN: %python %S/Inputs/keys.py %t.o > %t && FileCheck %s < %t && FileCheck --check-prefix=COUNT %s < %t
; CHECK-DAG: flow {{[0-9a-f]+}} -> [[ONE:[0-9a-f]+]] argument 1 of 2 of type-bound procedure 2{{$}}
; CHECK-DAG: flow {{[0-9a-f]+}} -> [[TWO:[0-9a-f]+]] argument 2 of 2 of type-bound procedure 2{{$}}
; CHECK-DAG: flow [[ONE]] -> {{[0-9a-f]+}} argument 1 of take{{$}}
; CHECK-DAG: flow [[TWO]] -> {{[0-9a-f]+}} argument 2 of take{{$}}
; Two of the first procedure, and one of that with an object.
; COUNT-COUNT-3: of type-bound procedure 2{{$}}
; COUNT-NOT: of type-bound procedure
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
%_QM__fortran_type_infoTbinding = type { %_QM__fortran_builtinsT__builtin_c_funptr, { ptr, i64, i32, i8, i8, i8, i8 } }
%_QM__fortran_builtinsT__builtin_c_funptr = type { i64 }
%_QM__fortran_type_infoTderivedtype = type { { ptr, i64 }, i64 }
@table = linkonce_odr constant [3 x %_QM__fortran_type_infoTbinding] [
  %_QM__fortran_type_infoTbinding zeroinitializer,
  %_QM__fortran_type_infoTbinding { %_QM__fortran_builtinsT__builtin_c_funptr { i64 ptrtoint (ptr @other to i64) }, { ptr, i64, i32, i8, i8, i8, i8 } zeroinitializer },
  %_QM__fortran_type_infoTbinding { %_QM__fortran_builtinsT__builtin_c_funptr { i64 ptrtoint (ptr @take to i64) }, { ptr, i64, i32, i8, i8, i8, i8 } zeroinitializer }]
@description = linkonce_odr constant %_QM__fortran_type_infoTderivedtype { { ptr, i64 } { ptr @table, i64 32 }, i64 8 }
define void @fortran(ptr %object, i64 %n) {
  %first = call ptr @malloc(i64 %n)
  %second = call ptr @malloc(i64 %n)
  %at = getelementptr i8, ptr %object, i64 24
  %description = load ptr, ptr %at
  %table = load ptr, ptr %description
  %slot = getelementptr i8, ptr %table, i64 64
  %procedure = load i64, ptr %slot, !tbaa !0
  %called = inttoptr i64 %procedure to ptr
  call void %called(ptr %first, ptr %second)
  ret void
}
define void @with_object(ptr %object, i64 %n) {
  %third = call ptr @malloc(i64 %n)
  %at = getelementptr i8, ptr %object, i64 24
  %description = load ptr, ptr %at
  %table = load ptr, ptr %description
  %slot = getelementptr i8, ptr %table, i64 64
  %procedure = load i64, ptr %slot, !tbaa !0
  %called = inttoptr i64 %procedure to ptr
  call void %called(ptr %object, ptr %third)
  ret void
}
define void @c(ptr %object, i64 %n) {
  %fourth = call ptr @malloc(i64 %n)
  %at = getelementptr i8, ptr %object, i64 24
  %description = load ptr, ptr %at
  %table = load ptr, ptr %description
  %slot = getelementptr i8, ptr %table, i64 64
  %function = load i64, ptr %slot
  %called = inttoptr i64 %function to ptr
  call void %called(ptr %fourth, ptr %fourth)
  ret void
}
declare void @take(ptr, ptr)
declare void @other(ptr, ptr)
declare ptr @malloc(i64)
!0 = !{!1, !1, i64 0}
!1 = !{!"any data access", !2, i64 0}
!2 = !{!"any access", !3, i64 0}
!3 = !{!"Flang function root fortran"}
