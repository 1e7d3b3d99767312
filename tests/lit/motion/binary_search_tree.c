// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a walk down a tree, child by child, is a chase.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK: superpages from {{.*}} of live objects on: malloc of 24 bytes in 'insert': reached through pointers
#include <stdlib.h>
struct node {
  struct node *child[2];
  long key;
};
static struct node *root;
__attribute__((noinline)) static void insert(long key) {
  struct node **at = &root;
  while (*at)
    at = &(*at)->child[(*at)->key < key];
  *at = malloc(sizeof **at);
  (*at)->child[0] = (*at)->child[1] = NULL;
  (*at)->key = key;
}
long f(const long *keys, long n, long m) {
  for (long i = 0; i < n; i++)
    insert(keys[i]);
  long found = 0;
  for (long i = 0; i < m; i++) {
    struct node *p = root;
    while (p && p->key != keys[i] + 1)
      p = p->child[p->key < keys[i]];
    found += p != NULL;
  }
  return found;
}
