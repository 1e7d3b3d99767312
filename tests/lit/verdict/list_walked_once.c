// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a list that is built, walked once and freed stays on base pages.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK: base pages: malloc of 48 bytes in 'main': walked once through pointers in the loop at line {{[0-9]+}}: its pages are not accessed again
// CHECK-NOT: superpages
#include <stdlib.h>
struct node {
  struct node *next;
  long value[5];
};
int main(int argc, char **argv) {
  struct node *head = NULL;
  for (long i = 0; i < argc * 1000000; i++) {
    struct node *x = malloc(sizeof *x);
    x->next = head;
    x->value[0] = i;
    head = x;
  }
  long s = 0;
  for (struct node *p = head; p; p = p->next)
    s += p->value[0];
  while (head) {
    struct node *next = head->next;
    free(head);
    head = next;
  }
  return s & 1;
}
