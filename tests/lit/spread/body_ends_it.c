// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a count that has room for every number of 64 bits is no count, and is not shown as one.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK-NOT: 18446744073709551615
// CHECK: remark: malloc of {{.*}} bytes in 'churn': spread min(i, size/4096) pages
// CHECK-NOT: 18446744073709551615
#include <stdlib.h>
static size_t K, turn;
__attribute__((noinline)) static unsigned long *one(unsigned long k) {
  unsigned long *r = malloc(40);
  r[0] = k;
  return r;
}
void start(size_t k, size_t t) { K = k, turn = t; }
unsigned long churn(unsigned long x) {
  unsigned long **t = malloc(K * sizeof *t), s = 0;
  for (size_t i = 0; i < K; i++)
    t[i] = one(i);
  for (size_t i = 0; i < K * turn; i++) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    size_t j = (x >> 33) % K;
    s += t[j][i % 5];
    free(t[j]);
    t[j] = one(x);
  }
  return s + (unsigned long)t;
}
