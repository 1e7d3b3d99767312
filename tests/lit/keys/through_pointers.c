// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: what a unit hands to a function that it calls through a field of a structure is, to other units, the
// argument of each function that they store there; of a table of others' functions it is each one's.
// RUN: %clang -O2 -c -o %t.o %s && %python %S/Inputs/keys.py %t.o | FileCheck %s
// CHECK-DAG: flow [[SITE:[0-9a-f]+]] -> [[PLACE:[0-9a-f]+]] argument 1 of what is called through byte 8 of struct operations
// CHECK-DAG: flow [[PLACE]] -> {{[0-9a-f]+}} argument 1 of look
// CHECK-DAG: flow [[SITE]] -> {{[0-9a-f]+}} argument 1 of in_table{{$}}
// CHECK-DAG: flow [[SITE]] -> {{[0-9a-f]+}} argument 1 of in_table_too
// CHECK-DAG: flow {{[0-9a-f]+}} -> [[SECOND:[0-9a-f]+]] argument 2 of what is called through byte 8 of struct operations
// CHECK-DAG: flow [[SECOND]] -> {{[0-9a-f]+}} argument 2 of look
#include <stdlib.h>
struct operations {
  long n;
  double (*run)(const double *, const int *);
};
double look(const double *a, const int *index);
double in_table(const double *a, const int *index);
double in_table_too(const double *a, const int *index);
static double (*const table[])(const double *, const int *) = {in_table, in_table_too};
void choose(struct operations *o) { o->run = look; }
double run(const int *index, const struct operations *o, int kind) {
  const double *a = malloc(o->n * sizeof(double));
  return o->run(a, index) + table[kind](a, index);
}
