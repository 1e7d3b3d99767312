// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: an atomic update at a random place is a gather.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK: superpages from {{.*}}: calloc of n*8 bytes in 'f': picked at random through loaded indices
#include <stdatomic.h>
#include <stdlib.h>
void keep(void *);
void f(long n, const int *index, long m) {
  _Atomic long *a = calloc(n, sizeof(long));
  for (long i = 0; i < m; i++)
    atomic_fetch_add_explicit(&a[index[i]], 1, memory_order_relaxed);
  keep((void *)a);
}
