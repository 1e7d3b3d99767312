// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: an instrumented build makes every site steerable, unless rewrite= says otherwise.
// RUN: %clang -O2 -fplugin-arg-smalloc-profile-generate -S -emit-llvm -o - %s | FileCheck %s
// RUN: %clang -O2 -fplugin-arg-smalloc-profile-generate -fplugin-arg-smalloc-rewrite=candidates -S -emit-llvm -o - %s | FileCheck --check-prefix=FEW %s
// CHECK: call {{.*}}@__smalloc_v1_thunk_malloc(
// FEW-NOT: call {{.*}}@__smalloc_v1_thunk_malloc(
#include <stdlib.h>
int f(void) {
  volatile int *p = malloc(100);
  *p = 3;
  int x = *p;
  free((void *)p);
  return x;
}
