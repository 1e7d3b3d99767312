// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a unit whose sites the link finds to be base pages for good keeps its records and no cells.
// RUN: %clang -fplugin-arg-smalloc-first-touch=off -O2 -flto -DUSER -c -o %t.user.bc %s
// RUN: %clang -fplugin-arg-smalloc-first-touch=off -O2 -flto -c -o %t.own.bc %s
// RUN: llvm-link -internalize %t.user.bc %t.own.bc -o %t.bc
// RUN: %opt -smalloc-first-touch=off -passes=smalloc-link -verify-each -S %t.bc | FileCheck %s
// CHECK: @__smalloc_v1_site_{{[0-9a-f_]*}} = internal constant {{.*}}streamed
// CHECK-NOT: .cell
// CHECK: call {{.*}}@malloc(
#include <stdlib.h>
double sum(const double *a, long n);
#ifdef USER
double use(long n) {
  double *a = malloc(n * sizeof *a);
  for (long i = 0; i < n; i++)
    a[i] = i;
  double s = sum(a, n);
  free(a);
  return s;
}
#else
double sum(const double *a, long n) {
  double s = 0;
  for (long i = 0; i < n; i++)
    s = s * a[i] + 1;
  return s;
}
#endif
