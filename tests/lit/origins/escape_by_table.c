// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: what is handed to the functions of a table that others may write to leaves the unit; through the unit's own
// constant table it stays.
// RUN: %remarks -fplugin-arg-smalloc-first-touch=off %s 2>&1 | FileCheck %s
// CHECK-DAG: undecided: malloc of n*8 bytes in 'others': {{.*}}its pointer leaves the unit
// CHECK-DAG: base pages: malloc of n*8 bytes in 'own': {{[^;]*}} [-Rpass-missed=smalloc]
#include <stdlib.h>
static double sum(const double *a, long n) {
  double s = 0;
  for (long i = 0; i < n; i++)
    s = s * a[i] + 1;
  return s;
}
static double last(const double *a, long n) { return a[n - 1]; }
double (*open_table[])(const double *, long) = {sum, last};
static double (*const own_table[])(const double *, long) = {sum, last};
double others(long n, int kind) {
  double *a = malloc(n * sizeof(double));
  for (long i = 0; i < n; i++)
    a[i] = i;
  double s = open_table[kind](a, n);
  free(a);
  return s;
}
double own(long n, int kind) {
  double *a = malloc(n * sizeof(double));
  for (long i = 0; i < n; i++)
    a[i] = i;
  double s = own_table[kind](a, n);
  free(a);
  return s;
}
