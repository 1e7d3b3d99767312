// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a buffer that each call appends to is not picked at random; a stack of indices is.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK-NOT: malloc of n*4 bytes in 'start': picked at random
// CHECK: superpages from {{.*}}: malloc of n*8 bytes in 'start': picked at random
#include <stdlib.h>
static int *text;
static double *cells;
static long count;
long place[8];
void start(long n) {
  text = malloc(n * sizeof *text);
  cells = malloc(n * sizeof *cells);
}
void append(int c) { text[count++] = c; }
void touch(int k) { cells[place[k & 7]] += 1; }
