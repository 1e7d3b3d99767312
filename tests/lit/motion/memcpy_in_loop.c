// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a memcpy of a length known at run time at a random place is an access there.
// Memory intrinsics inside loops are no references; the site is even "base for good".
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK: superpages from {{.*}}: malloc of {{.*}} in 'f': picked at random through loaded indices
#include <stdlib.h>
#include <string.h>
void f(char *to, long n, long bytes, const int *index, long m) {
  char *a = malloc(n * bytes);
  memset(a, 1, n * bytes);
  for (long i = 0; i < m; i++)
    memcpy(to + i * bytes, a + index[i] * bytes, bytes);
  free(a);
}
