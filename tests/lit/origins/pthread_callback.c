// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: the start routine of pthread_create, a callback, sees what its caller passes.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK: superpages from {{.*}}: malloc of n*8 bytes in 'f': picked at random through loaded indices
#include <pthread.h>
#include <stdlib.h>
struct work {
  double *a, sum;
  const int *index;
  long m;
};
static void *run(void *argument) {
  struct work *w = argument;
  for (long i = 0; i < w->m; i++)
    w->sum += w->a[w->index[i]];
  return NULL;
}
double f(long n, const int *index, long m) {
  struct work w = {malloc(n * sizeof(double)), 0, index, m};
  for (long i = 0; i < n; i++)
    w.a[i] = i;
  pthread_t t;
  pthread_create(&t, NULL, run, &w);
  pthread_join(t, NULL);
  return w.sum;
}
