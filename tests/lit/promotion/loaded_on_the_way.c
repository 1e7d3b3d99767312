// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: where an outer loop loads the object's pointer in a branch of its body, the point stands before the loops
// that follow the load, also in a unit without a site; not before a lone one of these, which may be short.
// RUN: %clang -O2 -S -emit-llvm -o - %s | FileCheck %s
#include <stddef.h>
struct grid {
  size_t n;
  double *cell;
};
// CHECK-LABEL: define {{.*}}@columns(
// CHECK: %[[CELL:.*]] = load ptr
// CHECK: call {{.*}}@__smalloc_v1_touch{{[a-z_]*}}(ptr{{.*}} %[[CELL]],
// CHECK: ret double
double columns(struct grid *g, int rounds) {
  double s = 0;
  for (int t = 0; t < rounds; t++)
    for (size_t j = 0; j < g->n; j++)
      for (size_t i = 0; i < g->n; i++)
        s += g->cell[i * g->n + j];
  return s;
}
// CHECK-LABEL: define {{.*}}@one_loop(
// CHECK-NOT: touch
// CHECK: ret double
double one_loop(struct grid *g, const int *index, int rounds) {
  double s = 0;
  for (int t = 0; t < rounds; t++)
    for (size_t i = 0; i < g->n; i++)
      s += g->cell[index[i]];
  return s;
}
