/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * a list in order of allocation, built, walked once */
#include "nest.h"

struct node {
  struct node *next;
  long value;
  long rest[6];
};

static struct node *build(long n) {
  struct node *first = NULL;
  for (long i = 0; i < n; i++) {
    struct node *one = malloc(sizeof *one);
    one->next = first;
    one->value = i;
    first = one;
  }
  return first;
}

static long walk(const struct node *first) {
  long s = 0;
  for (const struct node *one = first; one; one = one->next)
    s += one->value;
  return s;
}

int main(void) {
  SIZE(n, 100000);
  USE(walk(build(n)));
}
