// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: descriptors lie in a read-only section, cells in a writable one.
// RUN: %clang -O2 -c -o %t.o %s && llvm-readelf -S %t.o | FileCheck %s
// A: allocated, R: retained under --gc-sections; no W.
// CHECK-DAG: smalloc_sites PROGBITS {{[0-9a-f]+ [0-9a-f]+ [0-9a-f]+ 00}} AR 0 0 8
// CHECK-DAG: smalloc_cells PROGBITS {{[0-9a-f]+ [0-9a-f]+}} 000018 00 WA 0 0 64
#include <stdlib.h>
double f(const int *x, long n) {
  double *a = malloc(n * sizeof(double)), s = 0;
  for (long i = 0; i < n; i++)
    s += a[x[i]] += i;
  free(a);
  return s;
}
