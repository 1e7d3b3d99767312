// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a class's own operator new does not make the unit an allocator.
// RUN: %clangxx -O2 -S -emit-llvm -o - %s | FileCheck %s
// CHECK: call {{.*}}@__smalloc_v1_thunk__Znam(
struct pooled {
  static void *operator new(unsigned long n);
  static void operator delete(void *);
};
void *pooled::operator new(unsigned long n) { return new char[n]; }
