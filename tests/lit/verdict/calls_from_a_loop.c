// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a small allocation in a function that a loop calls counts as many objects.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK: superpages from {{.*}} of live objects on: malloc of 32 bytes in 'make': reached through pointers
#include <stdlib.h>
struct node {
  struct node *next;
  long value[3];
};
__attribute__((noinline)) static struct node *make(struct node *next) {
  struct node *x = malloc(sizeof *x);
  x->next = next;
  x->value[0] = 1;
  return x;
}
long f(long n, int rounds) {
  struct node *head = NULL;
  for (long i = 0; i < n; i++)
    head = make(head);
  long s = 0;
  for (int r = 0; r < rounds; r++)
    for (struct node *p = head; p; p = p->next)
      s += p->value[0] * r;
  return s;
}
