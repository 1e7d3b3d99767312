; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: a nest of twelve loops is survived.
; RUN: %python %S/Inputs/deep_nest.py 12 > %t.ll && %opt -passes='print<smalloc>,smalloc' -verify-each -disable-output %t.ll 2>&1 | FileCheck %s
; CHECK: malloc of n bytes in 'f': runtime strided
