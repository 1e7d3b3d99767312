// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: the calloc that the optimiser forms from malloc and memset has an id, and is rewritten.
// RUN: %clang -O2 -fplugin-arg-smalloc-rewrite=all -S -emit-llvm -o - %s | FileCheck %s
// RUN: rm -rf %t && %clang -O2 -c -o /dev/null -fplugin-arg-smalloc-sites=%t %s
// RUN: cat %t/*.json | FileCheck --check-prefix=JSON %s
#include <stdlib.h>
#include <string.h>
// CHECK-LABEL: @zeroed(
// CHECK: call {{.*}}@__smalloc_v1_thunk_calloc(
// JSON: "callee": "calloc"
// JSON: "function": "zeroed"
// JSON: "id": "{{[0-9a-f]+}}"
char *zeroed(size_t n) {
  char *p = malloc(n);
  if (p)
    memset(p, 0, n);
  return p;
}
