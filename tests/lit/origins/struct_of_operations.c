// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a call through a member of a structure of operations, handed down, reaches the functions of that member,
// and no others.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK-DAG: superpages from {{.*}}: malloc of n*8 bytes in 'f': picked at random through loaded indices in the loop at line 20
// CHECK-DAG: base pages: malloc of n*4 bytes in 'f': streamed in the loop
#include <stdlib.h>
struct operations {
  const char *name;
  void (*fill)(int *, long);
  double (*run)(const double *, const int *, long);
};
static void fill(int *a, long n) {
  for (long i = 0; i < n; i++)
    a[i] = (int)(i ^ 1);
}
static double look(const double *a, const int *index, long m) {
  double s = 0;

  for (long i = 0; i < m; i++)
    s += a[index[i]];
  return s;
}
static double first(const double *a, const int *index, long m) { return a[index[0]] + m; }
static const struct operations slow = {"slow", fill, look}, fast = {"fast", fill, first};
__attribute__((noinline)) static double work(const struct operations *ops, double *a, int *index, long n) {
  ops->fill(index, n);
  return ops->run(a, index, n);
}
double f(long n, int kind) {
  double *a = malloc(n * sizeof(double));
  int *index = malloc(n * sizeof(int));
  for (long i = 0; i < n; i++)
    a[i] = i;
  double s = work(kind ? &fast : &slow, a, index, n);
  free(a);
  free(index);
  return s;
}
