// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tree: a binary search tree of 128-byte records with random keys; half of the lookups miss.
//   tree [records] [lookups]
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct record {
  uint64_t key;
  struct record *left, *right;
  uint32_t count;
  char name[100];
};

static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

static struct record *record_new(uint64_t key) {
  struct record *r = malloc(sizeof *r);
  if (!r) {
    perror("tree");
    exit(1);
  }
  memset(r, 0, sizeof *r);
  r->key = key;
  snprintf(r->name, sizeof r->name, "record");
  return r;
}

static void insert(struct record **root, uint64_t key) {
  while (*root) {
    if (key == (*root)->key) {
      (*root)->count++;
      return;
    }
    root = key < (*root)->key ? &(*root)->left : &(*root)->right;
  }
  *root = record_new(key);
}

static const struct record *find(const struct record *r, uint64_t key) {
  while (r && r->key != key)
    r = key < r->key ? r->left : r->right;
  return r;
}

static size_t depth(const struct record *r) {
  if (!r)
    return 0;
  size_t left = depth(r->left), right = depth(r->right);
  return 1 + (left > right ? left : right);
}

int main(int argc, char **argv) {
  uint64_t records = argc > 1 ? strtoull(argv[1], NULL, 10) : 2000000;
  uint64_t lookups = argc > 2 ? strtoull(argv[2], NULL, 10) : records / 2;
  struct record *root = NULL;
  for (uint64_t i = 0; i < records; i++)
    insert(&root, mix(i + 1));
  uint64_t found = 0, letters = 0;
  for (uint64_t i = 0; i < lookups; i++) {
    const struct record *r = find(root, mix(mix(i) % (2 * records) + 1));
    if (r) {
      found++;
      letters += (uint64_t)r->name[0] + r->count;
    }
  }
  printf("tree records=%llu depth=%zu found=%llu letters=%llu\n", (unsigned long long)records,
         depth(root), (unsigned long long)found, (unsigned long long)letters);
  return 0; // the records live as long as the process
}
