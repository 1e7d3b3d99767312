// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: the size of a function of another unit is that of its alloc_size attribute.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK-DAG: at the first touch since every byte is written: make of {{.*}} in 'whole'
// CHECK-NOT: at the first touch since every byte is written: make of {{.*}} in 'other'
#include <stddef.h>
void *make(size_t n, size_t each) __attribute__((malloc, alloc_size(1, 2)));
double whole(const int *pick, long n) {
  double *a = make(n, sizeof *a), s = 0;
  for (long i = 0; i < n; i++)
    a[i] = i;
  for (long i = 0; i < n; i++)
    s += a[pick[i]];
  return s;
}
double other(const int *pick, long n, long m) {
  double *a = make(n, sizeof *a), s = 0;
  for (long i = 0; i < m; i++)
    a[i] = i;
  for (long i = 0; i < n; i++)
    s += a[pick[i]];
  return s;
}
