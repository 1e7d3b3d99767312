// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a hand-written call of ::operator new is a site, although it is nobuiltin.
// RUN: %clangxx -O2 -fplugin-arg-smalloc-rewrite=all -S -emit-llvm -o - %s | FileCheck %s
// CHECK-LABEL: @_Z4takem(
// CHECK: call {{.*}}@__smalloc_v1_thunk__Znwm(
void *take(unsigned long n) { return ::operator new(n); }
