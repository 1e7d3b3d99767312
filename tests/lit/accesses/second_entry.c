// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a function that allocates, fills and returns tells what it accesses, also in the copy that takes a cell along, which is what
// other functions call.
// RUN: %clang -O2 -fplugin-arg-smalloc-profile-generate -S -emit-llvm -o - %s | FileCheck %s
#include <stdint.h>
#include <stdlib.h>
__attribute__((noinline)) uint64_t *build(size_t n) {
  uint64_t *t = malloc(n * 8);
  uint64_t x = 88172645463325252u;
  for (size_t i = 0; i < 10 * n; i++) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    t[x % n] ^= i;
  }
  return t;
}
uint64_t use(size_t n) {
  uint64_t *t = build(n), last = t[n - 1];
  free(t);
  return last;
}
// CHECK-LABEL: define {{.*}}@build(
// CHECK: call {{.*}}@__smalloc_v1_{{look|tell|append}}5
// CHECK-LABEL: define {{.*}}@use(
// CHECK: call {{.*}}@__smalloc_v1_with_cell_build(
// CHECK-LABEL: define {{.*}}@__smalloc_v1_with_cell_build(
// CHECK: call {{.*}}@__smalloc_v1_{{look|tell|append}}5
// CHECK: {{^}}}
