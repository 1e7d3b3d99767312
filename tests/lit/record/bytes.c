// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: the fixed part of a descriptor is the bytes that smalloc/site.h says.
// RUN: %clang -O2 -c -o %t.o %s && llvm-readelf -x smalloc_sites %t.o | FileCheck %s
// "SMS1", version 1, 136 bytes fixed; then the record's size and the flags: rewritten (1), of any size (4096).
// CHECK: 0x00000000 534d5331 01008800 {{[0-9a-f]+}} 01100000
// Reach of zen4 in pages, 0x800.
// CHECK: 0x00000040 {{[0-9a-f]+}} 00080000 ffffffff ffffffff
// Scattered (4), at run time (2), by the compiler (0), spread model (0), 2^21, confidence, preset (0), 2^12.
// CHECK: 0x00000070 04020000 15{{[0-9a-f][0-9a-f]}}000c
#include <stdlib.h>
double f(const int *x, long n) {
  double *a = malloc(n * sizeof(double)), s = 0;
  for (long i = 0; i < n; i++)
    s += a[x[i]] += i;
  free(a);
  return s;
}
