// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: posix_memalign's block is found through the word that it writes.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK: superpages from {{.*}}: posix_memalign of n*8 bytes in 'f': picked at random through loaded indices
#include <stdlib.h>
double f(long n, const int *index, long m) {
  void *block;
  if (posix_memalign(&block, 64, n * sizeof(double)))
    return 0;
  double *a = block, s = 0;
  for (long i = 0; i < n; i++)
    a[i] = i;
  for (long i = 0; i < m; i++)
    s += a[index[i]];
  free(a);
  return s;
}
