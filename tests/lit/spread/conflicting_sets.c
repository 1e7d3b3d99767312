// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: rows that all go into one set of the TLB do not fit it, however few they are.
// RUN: %remarks -fplugin-arg-smalloc-first-touch=off -fplugin-arg-smalloc-machine=%S/Inputs/modulo.json %s 2>&1 | FileCheck %s --check-prefix=MODULO
// RUN: %remarks -fplugin-arg-smalloc-first-touch=off -fplugin-arg-smalloc-machine=%S/Inputs/hashed.json %s 2>&1 | FileCheck %s --check-prefix=HASHED
// MODULO: superpages{{.*}}: malloc of 2097152 bytes in 'f': {{.*}}1.00 TLB misses an access
// HASHED: base pages: malloc of 2097152 bytes
#include <stdlib.h>
enum { Rows = 32, Columns = 8192 };
double f(void) {
  double *a = malloc(Rows * (size_t)Columns * sizeof(double)), s = 0;
  for (long i = 0; i < Rows * (long)Columns; i++)
    a[i] = i;
  for (long j = 0; j < Columns; j++)
#pragma clang loop unroll(disable)
    for (long i = 0; i < Rows; i++)
      s += a[i * Columns + j];
  free(a);
  return s;
}
