// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a call that is inlined twice gives two records with one id and different contexts.
// RUN: rm -rf %t && %clang -O2 -c -o %t.o -fplugin-arg-smalloc-sites=%t %s && cat %t/*.json | FileCheck %s
// RUN: cat %t/*.json | grep '"id"' | sort -u | count 1
// CHECK: "f {{.*}}same_call_inlined_twice.c:10"
// CHECK: "g {{.*}}same_call_inlined_twice.c:11"
// CHECK: "sites": 2,
#include <stdlib.h>
static void *inner(long n) { return malloc(n); }
void *f(long n) { return inner(n); }
void *g(long n) { return inner(n); }
