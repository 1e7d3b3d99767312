// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a recursion over loaded children counts as a loop that chases pointers.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK: superpages from {{.*}} of live objects on: malloc of 24 bytes in 'build': reached through pointers
#include <stdlib.h>
struct node {
  struct node *left, *right;
  long value;
};
static struct node *build(long n) {
  struct node *top = NULL;
  for (long i = 0; i < n; i++) {
    struct node *x = malloc(sizeof *x);
    x->left = top;
    x->right = i & 1 ? top : NULL;
    x->value = i;
    top = x;
  }
  return top;
}
static long sum(const struct node *t) { return t ? t->value + sum(t->left) + sum(t->right) : 0; }
long f(long n, int rounds) {
  struct node *top = build(n);
  long s = 0;
  for (int r = 0; r < rounds; r++)
    s += sum(top) * r;
  return s;
}
