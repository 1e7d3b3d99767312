// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: the memory of locals, of globals and of fields whose address is handed on has keys, and so has what a
// pointer to a function returns; memory that holds no pointers has none.
// RUN: rm -rf %t && %clang -O2 -fplugin-arg-smalloc-coverage=%t -c -o /dev/null %s && cat %t/*.json | FileCheck %s
// CHECK: "named": [
// CHECK-NOT: "unnamed_in": {
// CHECK-DAG: "local memory of from_local"
// CHECK-DAG: "byte 8 of struct model"
// CHECK-DAG: "global shared"
// CHECK-DAG: "memory of global rows"
// CHECK-DAG: "byte 8 of struct maker"
// CHECK: "unnamed_in": {}
struct model { long n; double *cost; };
struct maker { long calls; double *(*make)(long); };
int make(double **out, int n), fill(double *out, long n);
extern double *shared;
static double *rows[64];
void keep(double **rows);
#define SUM(p) for (long i = 0; i < n; i++) s += (p)[i]
double from_local(long n) {
  double *p, few[4], s = 0;
  if (make(&p, (int)n) || fill(few, 4))
    return few[0];
  SUM(p);
  return s;
}
double from_field(struct model *m, long n) {
  double s = 0;
  if (make(&m->cost, (int)m->n))
    return 0;
  SUM(m->cost);
  return s;
}
double from_global(long n) {
  double s = 0;
  if (make(&shared, (int)n))
    return 0;
  SUM(shared);
  return s;
}
double from_array(long n, int k) {
  double s = 0;
  keep(rows);
  SUM(rows[k]);
  return s;
}
double from_pointer(struct maker *by, long n) {
  double s = 0, *p = by->make(n);
  SUM(p);
  return s;
}
