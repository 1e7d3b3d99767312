// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: with a symbolic n the paper's formula is decided at run time: two objects reach the threshold at 33 pages each.
// RUN: rm -rf %t && %core2remarks -fplugin-arg-smalloc-sites=%t %s 2>&1 | FileCheck %s
// RUN: cat %t/*.json | FileCheck --check-prefix=JSON %s
// CHECK: superpages from 128.0 KiB on: malloc of n*8 bytes in 'f': spread decided by the object's size in the nest of 2 loops at line {{[0-9]+}} against the paper's threshold of 65 pages
// JSON: "model": "paper"
// The first byte of the 33rd page: 32 * 4096 + 1.
// JSON: "min_bytes": 131073
#include <stdlib.h>
void keep(double *);
void f(long n) {
  double *a = malloc(n * n * sizeof(double)), *b = malloc(n * n * sizeof(double));
  keep(a);
  for (long i = 0; i < n; i++)
    for (long j = 0; j < n; j++)
      b[j * n + i] = a[i * n + j];
  keep(b);
}
