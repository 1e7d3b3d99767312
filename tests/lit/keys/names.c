// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: pointers that cross the unit's border go into its summary by argument, result, field and global.
// RUN: %clang -O2 -c -o %t.o %s && llvm-readelf -p smalloc_keys %t.o | FileCheck %s
// CHECK-DAG: argument 2 of elsewhere{{ *$}}
// CHECK-DAG: result of made
// CHECK-DAG: byte 8 of struct holder{{ *$}}
// CHECK-DAG: global shared{{ *$}}
// CHECK-DAG: byte 16 of global several{{ *$}}
// CHECK-DAG: argument 1 of walk{{ *$}}
// CHECK-DAG: picked at random through loaded indices in the loop at line [[#@LINE+15]]: {{.*}}names.c)
#include <stdlib.h>
struct holder { long n; double *cells; };
void elsewhere(int, double *);
double *shared, *several[4];
void *made(long n) { return malloc(n); }
void kept(struct holder *h, long n) { h->cells = malloc(n * 8); }
void put(long n) {
  shared = malloc(n * 8);
  several[2] = malloc(n * 8);
  elsewhere(1, malloc(n * 8));
}
double walk(double *cells, const int *pick, long n) {
  double s = 0;
  for (long k = 0; k < 3; k++)
    for (long i = 0; i < n; i++)
      s += cells[pick[i]];
  return s;
}
