// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a site of an inlined function says through which calls it was reached.
// RUN: rm -rf %t && %clang -O2 -c -o /dev/null -fplugin-arg-smalloc-sites=%t %s && cat %t/*.json | FileCheck %s
// CHECK: "context": [
// CHECK-NEXT: "middle {{.*}}inline_chain.c:11",
// CHECK-NEXT: "f {{.*}}inline_chain.c:12"
// CHECK: "function": "inner"
// CHECK: "line": 10
#include <stdlib.h>
static void *inner(long n) { return malloc(n); }
static void *middle(long n) { return inner(n * 8); }
void *f(long n) { return middle(n); }
