// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a small allocation in a function that calls itself counts as many objects.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK: superpages from {{.*}} of live objects on: malloc of 24 bytes in 'build': reached through pointers
#include <stdlib.h>
struct node {
  struct node *left, *right;
  long value;
};
static struct node *build(int depth) {
  if (depth == 0)
    return NULL;
  struct node *x = malloc(sizeof *x);
  x->left = build(depth - 1);
  x->right = build(depth - 1);
  x->value = depth;
  return x;
}
static long sum(const struct node *t) { return t ? t->value + sum(t->left) + sum(t->right) : 0; }
long f(int depth, int rounds) {
  struct node *top = build(depth);
  long s = 0;
  for (int r = 0; r < rounds; r++)
    s += sum(top) * r;
  return s;
}
