// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a unit that replaces operator delete is left alone.
// RUN: %clangxx -O2 -S -emit-llvm -o - %s | FileCheck %s
// CHECK-NOT: __smalloc_v1
#include <cstdlib>
void operator delete(void *p) noexcept { std::free(p); }
double *f(long n) { return new double[n]; }
