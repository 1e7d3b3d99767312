// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: the result of a rewritten operator new stays noalias and nonnull.
// RUN: %clangxx -O2 -S -emit-llvm -o - %s | FileCheck %s
// CHECK: call noalias noundef nonnull ptr @__smalloc_v1_thunk__Znwm(
void *f(long n) { return ::operator new(n); }
