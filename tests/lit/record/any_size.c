// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: the descriptor says at which sites any size may follow: where a request is no constant, also through
// functions that return fresh memory. A function that asks for one constant asks for it whatever it is given.
// RUN: %clang -O2 -fno-inline -c -o %t.1.o %s
// RUN: ld.lld -r -o %t.o %t.1.o && llvm-objcopy --dump-section smalloc_sites=%t.bin %t.o
// RUN: %python %S/Inputs/read_sites.py %t.bin | grep -v ^why= | FileCheck %s
// CHECK-DAG: callee=malloc line=101 {{.*}} any=0
// CHECK-DAG: callee=malloc line=102 {{.*}} any=1
// CHECK-DAG: callee=calloc line=103 {{.*}} any=0
// CHECK-DAG: callee=calloc line=104 {{.*}} any=1
// CHECK-DAG: callee=realloc line=105 {{.*}} any=1
// CHECK-DAG: callee=xmalloc line=106 {{.*}} any=0
// CHECK-DAG: callee=xmalloc line=107 {{.*}} any=1
// CHECK-DAG: callee=node_new line=108 {{.*}} any=0
// CHECK-DAG: callee=either_new line=109 {{.*}} any=1
// CHECK-DAG: callee=either_new line=110 {{.*}} any=0
// CHECK-DAG: callee=elsewhere line=111 {{.*}} any=0
// CHECK-DAG: callee=elsewhere line=112 {{.*}} any=1
// CHECK-DAG: callee=xcalloc line=113 {{.*}} any=0
// CHECK-DAG: callee=xcalloc line=114 {{.*}} any=1
#include <stdint.h>
#include <stdlib.h>
void use(void *), *elsewhere(size_t);
void *xmalloc(size_t n) {
  void *p = malloc(n);
  if (!p)
    abort();
  return p;
}
void *xcalloc(size_t n, size_t m) {
  void *p = calloc(n, m);
  if (!p)
    abort();
  return p;
}
uint32_t *node_new(uint32_t key) {
  uint32_t *node = xmalloc(48);
  *node = key;
  return node;
}
char *either_new(uint32_t bytes) {
  char *p = malloc(bytes + 8ul);
  *p = 1;
  return p;
}
void f(size_t n, uint32_t k, void *p) {
#line 101
  use(malloc(48));
  use(malloc(n));
  use(calloc(2, 24));
  use(calloc(n, 16));
  use(realloc(p, n));
  use(xmalloc(64));
  use(xmalloc(n));
  use(node_new(k));
  use(either_new(k));
  use(either_new(40));
  use(elsewhere(56));
  use(elsewhere(n));
  use(xcalloc(1, 48));
  use(xcalloc(n, 48));
}
