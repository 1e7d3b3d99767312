// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: (the opposite) a nest that leaves the last byte of each row, whose length has a constant of more than
// 32 bits, does not write every byte.
// RUN: %remarks -fplugin-arg-smalloc-heap=superpage %s 2>&1 | FileCheck %s
// CHECK: remark: superpages: {{.*}}in 'part'
// CHECK: superpages, at the first touch since every byte is written: {{.*}}in 'whole'
#include <stdlib.h>
static const unsigned long large = (1ul << 40) + 1;
char *part(unsigned long n, unsigned long m) {
  char *a = malloc((4 * n + large) * m);
  for (unsigned long i = 0; i < m; i++)
    for (unsigned long j = 0; j < 4 * n + large - 1; j++)
      a[i * (4 * n + large - 1) + j] = i ^ j;
  return a;
}
char *whole(unsigned long n, unsigned long m) {
  char *a = malloc((4 * n + large) * m);
  for (unsigned long i = 0; i < m; i++)
    for (unsigned long j = 0; j < 4 * n + large; j++)
      a[i * (4 * n + large) + j] = i ^ j;
  return a;
}
