// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: what a table's pointers point to is come back to as the table is: where its index is drawn, at random;
// walked in order, once.
// RUN: %remarks -DFILL=computed %s 2>&1 | FileCheck --check-prefix=DRAWN %s
// RUN: %remarks -DFILL=loaded %s 2>&1 | FileCheck --check-prefix=DRAWN %s
// RUN: %remarks -DFILL=called %s 2>&1 | FileCheck --check-prefix=DRAWN %s
// RUN: %remarks -DFILL=through %s 2>&1 | FileCheck --check-prefix=DRAWN %s
// RUN: %remarks -DFILL=in_order %s 2>&1 | FileCheck --check-prefix=ONCE %s
// DRAWN: superpages from {{.*}} of live objects on: malloc of 64 bytes in 'main': picked at random through
// ONCE: base pages: malloc of 64 bytes in 'main': walked once through pointers in the loop
#include <stdlib.h>
#define N (1L << 20)
struct item {
  long value;
  struct item *other;
  long rest[6];
};
static struct item *table[N];
static unsigned picked[N];

static long computed(long draws) {
  long sum = 0;
  for (long i = 0; i < draws; i++)
    sum += table[(unsigned long)rand() % N]->value;
  return sum;
}
static long loaded(long draws) {
  long sum = 0;
  for (long i = 0; i < draws; i++)
    sum += table[picked[i]]->value;
  return sum;
}
__attribute__((noinline)) static long hashed(unsigned long of) { return table[of % N]->value; }
static long called(long draws) {
  long sum = 0;
  for (long i = 0; i < draws; i++)
    sum += hashed((unsigned long)i * 0x9e3779b97f4a7c15u);
  return sum;
}
static long through(long draws) {
  long sum = 0;
  for (long i = 0; i < draws; i++)
    sum += table[(unsigned long)rand() % N]->other->value;
  return sum;
}
static long in_order(long draws) {
  long sum = 0;
  for (long i = 0; i < N; i++)
    sum += table[i]->value;
  return sum;
}

int main(int argc, char **argv) {
  for (long i = 0; i < N; i++) {
    table[i] = malloc(sizeof **table);
    table[i]->value = i;
    table[i]->other = table[i / 2];
    picked[i] = (unsigned)rand() % N;
  }
  return (int)FILL(atol(argv[1]));
}
