// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a context inside a try block stays an invoke, and its thunk may throw.
// RUN: %clangxx -O2 -S -emit-llvm -o - %s | FileCheck %s
// CHECK: invoke {{.*}}@__smalloc_v1_context_{{.*}}make
// CHECK: define linkonce_odr hidden {{.*}}@__smalloc_v1_context_{{.*}}make{{.*}} comdat
// CHECK: tail call {{.*}}@{{.*}}make
void *make(unsigned long);
void use(void *);
int f(unsigned long n) {
  try {
    use(make(n));
  } catch (int e) {
    return e;
  }
  return 0;
}
