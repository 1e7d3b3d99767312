// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: an object in an external pointer is found, and known to escape.
// RUN: %remarks %s 2>&1 | FileCheck %s
// RUN: rm -rf %t && %clang -O2 -S -emit-llvm -o - %s | FileCheck --check-prefix=FLAGS %s
// CHECK: superpages from {{.*}}: malloc of n*8 bytes in 'setup': picked at random through loaded indices
#include <stdlib.h>
double *table;
// Rewritten (1), escapes (8) and of any size (4096), with no doubt (16) left.
// FLAGS: @__smalloc_v1_site_{{[0-9a-f_]*}} = {{.*}}<{ i32 827542867, i16 1, i16 136, i32 {{[0-9]+}}, i32 4105,
void setup(long n) { table = malloc(n * sizeof(double)); }
double look(const int *index, long m) {
  double s = 0;
  for (long i = 0; i < m; i++)
    s += table[index[i]];
  return s;
}
