// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// list: many singly linked lists of small nodes, grown in turn: neighbours lie far apart in memory.
// No object is big; only the site as a whole is.
//   list [nodes] [lists] [walks]
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct node {
  struct node *next;
  uint64_t id;
  double weight[4];
};

static void push(struct node **head, uint64_t id) {
  struct node *n = malloc(sizeof *n);
  if (!n) {
    perror("list");
    exit(1);
  }
  n->id = id;
  for (int i = 0; i < 4; i++)
    n->weight[i] = (double)(id % 97) + i;
  n->next = *head;
  *head = n;
}

static double walk(const struct node *n) {
  double sum = 0;
  for (; n; n = n->next)
    sum += n->weight[n->id & 3];
  return sum;
}

static void drop(struct node *n) {
  while (n) {
    struct node *next = n->next;
    free(n);
    n = next;
  }
}

int main(int argc, char **argv) {
  size_t nodes = argc > 1 ? strtoull(argv[1], NULL, 10) : 6000000;
  size_t lists = argc > 2 ? strtoull(argv[2], NULL, 10) : 65536;
  size_t walks = argc > 3 ? strtoull(argv[3], NULL, 10) : 3;
  struct node **heads = calloc(lists, sizeof *heads);
  if (!heads)
    return 1;
  uint64_t x = 1;
  for (size_t i = 0; i < nodes; i++) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    push(&heads[(x >> 33) % lists], i);
  }
  double sum = 0;
  for (size_t w = 0; w < walks; w++)
    for (size_t l = 0; l < lists; l++)
      sum += walk(heads[l]);
  printf("list nodes=%zu lists=%zu sum=%.0f\n", nodes, lists, sum);
  for (size_t l = 0; l < lists; l++)
    drop(heads[l]);
  free(heads);
  return 0;
}
