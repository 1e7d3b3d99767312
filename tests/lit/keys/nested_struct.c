// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a field of a structure inside another is found as the field reached directly, and two such structures in
// one are told apart: what is stored to one is not read from the other.
// RUN: %clang -O2 -c -o %t.o %s && %python %S/Inputs/keys.py %t.o | FileCheck %s
// CHECK: flow {{.*}} -> [[FIRST:[0-9a-f]+]] byte 24 of struct outer{{$}}
// CHECK: flow {{.*}} -> [[SECOND:[0-9a-f]+]] byte 40 of struct outer{{$}}
// CHECK: flow {{.*}} -> [[DIRECT:[0-9a-f]+]] byte 8 of struct inner{{$}}
// CHECK: flow [[FIRST]] -> [[FIRSTREAD:[0-9a-f]+]] byte 24 of struct outer{{$}}
// CHECK: flow [[DIRECT]] -> [[FIRST]] byte 24 of struct outer{{$}}
// CHECK: flow [[FIRSTREAD]] -> [[DIRECTREAD:[0-9a-f]+]] byte 8 of struct inner{{$}}
// CHECK: flow [[SECOND]] -> [[SECONDREAD:[0-9a-f]+]] byte 40 of struct outer{{$}}
// CHECK: flow [[DIRECT]] -> [[SECOND]] byte 40 of struct outer{{$}}
// CHECK: flow [[SECONDREAD]] -> [[DIRECTREAD]] byte 8 of struct inner{{$}}
// CHECK: flow [[DIRECT]] -> [[DIRECTREAD]] byte 8 of struct inner{{$}}
#include <stdlib.h>
struct inner { long n; double *cells; };
struct outer { long a, b; struct inner in, also; };
void fill(struct outer *o, long n) { o->in.cells = malloc(n * 8); }
void other(struct outer *o, long n) { o->also.cells = malloc(n * 8); }
void direct(struct inner *i, long n) { i->cells = malloc(n * 16); }
double *found(struct inner *i) { return i->cells; }
