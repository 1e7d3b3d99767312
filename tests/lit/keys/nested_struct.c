// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a field of a structure inside another is the same key as the field reached directly.
// RUN: %clang -O2 -c -o %t.o %s && %python %S/Inputs/keys.py %t.o | FileCheck %s
// CHECK: flow {{.*}} byte 8 of struct inner
// CHECK-NOT: of struct outer
#include <stdlib.h>
struct inner { long n; double *cells; };
struct outer { long a, b; struct inner in; };
void fill(struct outer *o, long n) { o->in.cells = malloc(n * 8); }
void also(struct inner *i, long n) { i->cells = malloc(n * 16); }
