// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a pointer that an inlined callee stores through void ** into a structure's
// field has the field's key. Its type tag names no structure; other accesses through the same
// pointer do. A pointer in an array of pointers is no field.
// RUN: %clang -O2 -c -o %t.o %s && %python %S/Inputs/keys.py %t.o | FileCheck %s
// CHECK-DAG: flow {{.*}} -> {{.*}} byte 8 of struct grid
// CHECK-DAG: flow {{.*}} -> {{.*}} byte 16 of struct grid
// CHECK-NOT: byte 24 of struct grid
#include <stdlib.h>
struct grid {
  int columns, rows;
  double *before, *after;
  double *other;
};
static int array_new(void **out, size_t n, size_t size) {
  void *p = NULL;
  if (posix_memalign(&p, 64, n * size))
    return -1;
  *out = p;
  return 0;
}
int grid_create(struct grid **out, int columns, int rows) {
  struct grid *g = calloc(1, sizeof *g);
  if (!g)
    return -1;
  g->columns = columns;
  g->rows = rows;
  if (array_new((void **)&g->before, (size_t)columns * rows, sizeof(double)) ||
      array_new((void **)&g->after, (size_t)columns * rows, sizeof(double)))
    return -1;
  *out = g;
  return 0;
}
void table_fill(double **table, size_t n) {
  for (int k = 0; k < 3; k++)
    table[k] = malloc(n * 8);
}
