// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: what another unit's function returned is written if a loop writes as many bytes as the call names, in one
// number or in two, loaded from a field again or not; the number that it writes all of is the size.
// RUN: rm -rf %t && %clang -O2 -c -o /dev/null -fplugin-arg-smalloc-sites=%t %s && cat %t/*.json | tr -d '\n' | FileCheck %s
// CHECK-DAG: "fully_initialised": true,{{ *}}"function": "one_number"
// CHECK-DAG: "fully_initialised": true,{{ *}}"function": "two_numbers"
// CHECK-DAG: "fully_initialised": true,{{ *}}"function": "through_a_field"
// CHECK-DAG: "fully_initialised": false,{{ *}}"function": "every_thirtieth_page"
// CHECK-DAG: "fully_initialised": false,{{ *}}"function": "the_field_changes"
#include <stddef.h>
void *xmalloc(size_t n);
void *alloc_data(unsigned long long n, int each);
struct grid {
  size_t n;
  double *cell, *log;
};
double *one_number(size_t n) {
  double *a = xmalloc(n * sizeof *a);
  for (size_t i = 0; i < n; i++)
    a[i] = i;
  return a;
}
double *two_numbers(int n) {
  double *a = alloc_data((unsigned long long)n * n, sizeof *a);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      a[(size_t)i * n + j] = i;
  return a;
}
void through_a_field(struct grid *g) {
  g->cell = xmalloc(g->n * g->n * sizeof(double));
  for (size_t i = 0; i < g->n * g->n; i++)
    g->cell[i] = 1;
}
void every_thirtieth_page(struct grid *g) {
  g->log = xmalloc(g->n * g->n * sizeof(double));
  for (size_t i = 0; i < g->n * g->n; i += 512 * 30)
    g->log[i] = 1;
}
double *the_field_changes(struct grid *g, size_t n) {
  size_t before = g->n;
  double *a = xmalloc(before * sizeof *a);
  g->n = n;
  for (size_t i = 0; i < g->n; i++)
    a[i] = i;
  return a;
}
