/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * lookups in a binary search tree of nodes */
#include "nest.h"

struct node {
  struct node *left, *right;
  unsigned key;
};

static struct node *build(long n, const unsigned *key) {
  struct node *root = NULL;
  for (long i = 0; i < n; i++) {
    struct node **at = &root;
    while (*at)
      at = key[i] < (*at)->key ? &(*at)->left : &(*at)->right;
    struct node *one = malloc(sizeof *one);
    one->left = one->right = NULL;
    one->key = key[i];
    *at = one;
  }
  return root;
}

static long lookup(long n, const unsigned *key, const struct node *root) {
  long depth = 0;
  for (long i = 0; i < n; i++)
    for (const struct node *one = root; one && one->key != key[i];) {
      one = key[i] < one->key ? one->left : one->right;
      depth++;
    }
  return depth;
}

int main(void) {
  SIZE(n, 150000);
  unsigned *key = ARRAY(unsigned, n);
  fill_random(key, n, 1u << 30);
  USE(lookup(n, key, build(n, key)));
}
