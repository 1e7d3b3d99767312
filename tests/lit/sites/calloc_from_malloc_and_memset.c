// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: the calloc that the optimiser forms from malloc and memset is the malloc's site: its id, name and size,
// and the knowledge that the program writes all of it. It is rewritten as the calloc that it is.
// RUN: %clang -O2 -fplugin-arg-smalloc-rewrite=all -S -emit-llvm -o - %s | FileCheck %s
// RUN: rm -rf %t && %clang -O2 -c -o /dev/null -fplugin-arg-smalloc-sites=%t %s
// RUN: rm -rf %t.kept && %clang -O2 -c -o /dev/null -fplugin-arg-smalloc-sites=%t.kept -DKEPT %s
// RUN: cat %t.kept/*.json %t/*.json | FileCheck --check-prefix=JSON %s
#include <stdlib.h>
#include <string.h>
// CHECK-LABEL: @zeroed(
// CHECK: call {{.*}}@__smalloc_v1_thunk_calloc(
// JSON: "callee": "malloc"
// JSON: "fully_initialised": true
// JSON: "function": "zeroed"
// JSON: "id": "[[ID:[0-9a-f]+]]"
// JSON: "callee": "malloc"
// JSON: "element_bytes": 8
// JSON: "fully_initialised": true
// JSON: "function": "zeroed"
// JSON: "id": "[[ID]]"
#ifdef KEPT
enum { Byte = 1 };
#else
enum { Byte = 0 };
#endif
long *zeroed(size_t n) {
  long *p = malloc(n * sizeof *p);
  if (p)
    memset(p, Byte, n * sizeof *p);
  return p;
}
