// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: blocks below a superpage are probably many if only other units call the
// function that allocates them, also through a function of this unit. Such blocks (a pool's) are
// undecided, not base. What main allocates once is one block.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK-DAG: undecided: malloc of 1048576 bytes in 'block'
// CHECK-DAG: base pages: malloc of 1048576 bytes in 'main'
#include <stdlib.h>
struct pool {
  char *at, *end;
};
void use(void *);
__attribute__((noinline)) char *block(struct pool *p) {
  p->at = malloc(1 << 20);
  p->end = p->at + (1 << 20);
  return p->at;
}
void *pool_get(struct pool *p, size_t n) {
  if ((size_t)(p->end - p->at) < n)
    block(p);
  char *taken = p->at;
  p->at += n;
  return taken;
}
int main(void) {
  use(malloc(1 << 20));
  return 0;
}
