// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a walk with a growing step, the paper's stride benchmark, is superpages.
// RUN: %core2remarks %s 2>&1 | FileCheck %s
// CHECK: superpages: malloc of 8388608 bytes in 'f': spread {{[0-9]+}} pages in {{.*}} against the paper's threshold of 65 pages
#include <stdlib.h>
void keep(char *);
char f(void) {
  char *a = malloc(8 << 20), s = 0;
  keep(a);
  for (int i = 0; i < 8 << 20; i += 4096)
    s += a[i] ^ s;
  return s;
}
