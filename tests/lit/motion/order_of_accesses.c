// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: how an access moves does not depend on which access of the loop comes first: both fields of a list's node are
// reached through pointers.
// RUN: %rawclang -O2 -S -emit-llvm -o %t.1.ll %s
// RUN: %opt -passes='print<smalloc>' -disable-output %t.1.ll 2>&1 | FileCheck %s
// RUN: %rawclang -O2 -DNEXT_FIRST -S -emit-llvm -o %t.2.ll %s
// RUN: %opt -passes='print<smalloc>' -disable-output %t.2.ll 2>&1 | FileCheck %s
// CHECK-NOT: picked at random
// CHECK: profitable nest in 'sum': reached through pointers
// CHECK-NOT: picked at random
struct node {
  long value;
  char text[16384];
  struct node *next;
};
long sum(struct node *head, long rounds) {
  long s = 0;
  for (long r = 0; r < rounds; r++)
    for (struct node *p = head; p; p = p->next)
#ifdef NEXT_FIRST
      if (p->next != head + 2)
#endif
        s += p->value * r;
  return s;
}
