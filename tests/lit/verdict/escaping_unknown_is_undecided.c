// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: an escaping object that no loop of the unit walks is undecided, and steerable.
// RUN: rm -rf %t && %clang -O2 -c -o /dev/null -fplugin-arg-smalloc-sites=%t %s && cat %t/*.json | FileCheck %s
// CHECK: "confidence": 0.{{3|2999}}
// CHECK: "decision": "runtime"
// CHECK: "pattern": "unknown"
// CHECK: "rewritten": true
#include <stdlib.h>
void *f(long n) { return malloc(n); }
