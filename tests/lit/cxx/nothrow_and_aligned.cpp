// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: nothrow and over-aligned operator new go through thunks of their own.
// RUN: %clangxx -std=c++17 -O2 -fplugin-arg-smalloc-rewrite=all -S -emit-llvm -o - %s | FileCheck %s
// CHECK-DAG: @__smalloc_v1_thunk__ZnwmRKSt9nothrow_t(
// CHECK-DAG: @__smalloc_v1_thunk__ZnamSt11align_val_t(
// CHECK-DAG: @__smalloc_v1_thunk__ZnwmSt11align_val_tRKSt9nothrow_t(
#include <new>
struct alignas(128) wide {
  double x[16];
};
double *f() { return new (std::nothrow) double; }
wide *g(long n) { return new wide[n]; }
wide *h() { return new (std::nothrow) wide; }
