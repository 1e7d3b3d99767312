// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a fill that begins a few elements behind the first still leaves no page untouched; one that begins pages behind does.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK-DAG: at the first touch since every byte is written: malloc of n*8 bytes in 'behind_a_few'
// CHECK-DAG: superpages from {{[^,]*}} on: malloc of n*8 bytes in 'behind_pages'
#include <stdlib.h>
#include <string.h>
static inline double filled_from(double *a, size_t first, const int *pick, size_t n) {
  double s = 0;
  a[0] = 1;
  memset(a + first, 0, (n - first) * sizeof *a);
  for (size_t i = 0; i < n; i++)
    s += a[pick[i]];
  free(a);
  return s;
}
double behind_a_few(const int *pick, size_t n) { return filled_from(malloc(n * sizeof(double)), 32, pick, n); }
double behind_pages(const int *pick, size_t n) { return filled_from(malloc(n * sizeof(double)), 100000, pick, n); }
