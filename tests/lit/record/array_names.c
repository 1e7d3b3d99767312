// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: with debug information a record says which variable or member gets the memory, whatever function hands it
// out; without, globals have their names.
// RUN: %clang -O2 -g -S -emit-llvm -o - %s | FileCheck --check-prefixes=CHECK,DEBUG %s
// RUN: %clang -O2 -S -emit-llvm -o - %s | FileCheck %s
// CHECK-DAG: c"use\00{{.*}}malloc\00{{.*}}zen4\00shared\00
// DEBUG-DAG: c"use\00{{.*}}malloc\00{{.*}}zen4\00local\00
// DEBUG-DAG: c"use\00{{.*}}malloc\00{{.*}}zen4\00other\00
// DEBUG-DAG: c"use\00{{.*}}malloc\00{{.*}}zen4\00g->cells.order\00
// DEBUG-DAG: c"use\00{{.*}}buffer\00{{.*}}zen4\00out\00
// DEBUG-DAG: c"use\00{{.*}}posix_memalign\00{{.*}}zen4\00h.size\00
#include <stdlib.h>
struct grid {
  struct { long n; double *order; } cells;
};
struct sized { double *size; };
double *shared;
int buffer(double **out, size_t n);
void keep(void *, void *, void *, void *);
void use(struct grid *g, size_t n) {
  double *local = malloc(n * 8), *other = malloc(n * 4), *out;
  struct sized h;
  shared = malloc(n);
  g->cells.order = malloc(n * 2);
  if (buffer(&out, n) || posix_memalign((void **)&h.size, 64, n))
    return;
  keep(local, other, out, h.size);
}
