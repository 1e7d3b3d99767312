// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a wrapper that other units call has a second entry and a hidden record of its own definition.
// RUN: %clang -O2 -fPIC -S -emit-llvm -o - %s | FileCheck %s
// RUN: %clang -O2 -c -o %t.o %s && %python %S/../keys/Inputs/keys.py %t.o | FileCheck --check-prefix=KEYS %s
// CHECK: @__smalloc_v1_wrapper_xmalloc = weak hidden constant { ptr, ptr } { ptr @__smalloc_v1_own_xmalloc, ptr @__smalloc_v1_with_cell_xmalloc }
// CHECK: @__smalloc_v1_own_xmalloc = internal alias {{.*}}ptr @xmalloc
// CHECK: define internal {{.*}}@__smalloc_v1_with_cell_xmalloc(
// CHECK-NOT: memory(
// CHECK: ret ptr
// KEYS: flow {{.*}} xmalloc wrapper
#include <stdlib.h>
void *xmalloc(size_t n) {
  void *p = malloc(n ? n : 1);
  if (!p)
    abort();
  return p;
}
