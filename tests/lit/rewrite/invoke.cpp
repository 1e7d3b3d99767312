// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: an invoke stays an invoke with its landing pad.
// RUN: %clangxx -O2 -S -emit-llvm -o - %s | FileCheck %s
// CHECK: invoke {{.*}}ptr @__smalloc_v1_thunk__Znam({{.*}}, ptr {{.*}}.cell)
// CHECK-NEXT: to label %{{.*}} unwind label %
double *f(long n) {
  try {
    return new double[n];
  } catch (...) {
    return nullptr;
  }
}
