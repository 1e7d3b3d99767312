// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a size and a count that both come from an argument with a default are the same number, on each way into
// the merge of the argument and its default.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK-DAG: at the first touch since every byte is written: malloc of n*8 bytes in 'logarithm'
// CHECK-DAG: at the first touch since every byte is written: malloc of {{.*}} in 'square'
// CHECK-DAG: at the first touch since every byte is written: malloc of {{.*}} in 'chosen'
// CHECK-DAG: remark: undecided: malloc of {{.*}} in 'other_default'
#include <stdint.h>
#include <stdlib.h>
uint64_t *logarithm(int argc, char **argv) {
  int lg = argc > 1 ? atoi(argv[1]) : 27;
  uint64_t n = 1ull << lg, up = argc > 2 ? strtoull(argv[2], 0, 0) : 100000000, x = 88172645463325252ull;
  uint64_t *t = malloc(n * sizeof *t);
  if (!t)
    return t;
  for (uint64_t i = 0; i < n; i++)
    t[i] = i;
  for (uint64_t i = 0; i < up; i++) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    t[x & (n - 1)] ^= x;
  }
  return t;
}
double *square(int argc, char **argv) {
  long n = argc > 1 ? atol(argv[1]) : 4000;
  double *a = malloc(n * n * sizeof *a);
  for (long i = 0; i < n; i++)
    for (long j = 0; j < n; j++)
      a[i * n + j] = i ^ j;
  return a;
}
double *chosen(int large, long m) {
  long bytes = large ? m * 8 : 1l << 26, count = large ? m : 1l << 23;
  double *a = malloc(bytes);
  for (long i = 0; i < count; i++)
    a[i] = i;
  return a;
}
// Half of the object by default.
double *other_default(int argc, char **argv) {
  long n = 1 << 24, m = 1 << 23;
  if (argc > 1)
    n = m = atol(argv[1]);
  double *a = malloc(n * sizeof *a);
  for (long i = 0; i < m; i++)
    a[i] = i;
  return a;
}
