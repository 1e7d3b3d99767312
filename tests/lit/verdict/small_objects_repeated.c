// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: small objects that are walked again and again are decided together, by what is live.
// RUN: rm -rf %t && %clang -O2 -c -o /dev/null -fplugin-arg-smalloc-sites=%t %s && cat %t/*.json | FileCheck %s
// RUN: %remarks %s 2>&1 | FileCheck --check-prefix=REMARK %s
// CHECK: "decision": "runtime"
// CHECK: "pattern": "pointer-chasing"
// CHECK: "rewritten": true
// CHECK: "size_bytes": 48
// REMARK: superpages from 8.2 MiB of live objects on: malloc of 48 bytes in 'f'
#include <stdlib.h>
struct node {
  struct node *next;
  long value[5];
};
long f(long n, int rounds) {
  struct node *head = NULL;
  for (long i = 0; i < n; i++) {
    struct node *x = malloc(sizeof *x);
    x->next = head;
    x->value[0] = i;
    head = x;
  }
  long s = 0;
  for (int r = 0; r < rounds; r++)
    for (struct node *p = head; p; p = p->next)
      s += p->value[0] * r;
  return s;
}
