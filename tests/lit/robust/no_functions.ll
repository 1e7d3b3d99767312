; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Missing if this fails: a unit without functions passes.
; RUN: %opt -passes='smalloc-sites,smalloc,print<smalloc>' -verify-each -disable-output %s
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
@g = global ptr null
