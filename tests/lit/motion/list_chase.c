// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a list is walked by a pointer loaded through itself: a chase.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK: superpages from {{.*}} of live objects on: malloc of 16 bytes in 'f': reached through pointers in the nest of 2 loops
#include <stdlib.h>
struct node {
  struct node *next;
  long value;
};
long f(long n, int rounds) {
  struct node *head = NULL;
  for (long i = 0; i < n; i++) {
    struct node *x = malloc(sizeof *x);
    x->next = head;
    x->value = i;
    head = x;
  }
  long s = 0;
  for (int r = 0; r < rounds; r++)
    for (struct node *p = head; p; p = p->next)
      s += p->value * r;
  return s;
}
