// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: the link phase decides a site by another unit's loop, keeps its id and record, and leaves one summary for all units.
// RUN: %clang -O2 -flto -DMAIN -c -o %t.main.bc %s
// RUN: %clang -O2 -flto -c -o %t.walk.bc %s
// RUN: llvm-dis %t.main.bc -o - | FileCheck --check-prefix=ALONE %s
// RUN: llvm-link %t.main.bc %t.walk.bc -o %t.bc
// RUN: %opt -passes=smalloc-link -verify-each -S %t.bc | FileCheck %s
// RUN: %opt -passes='smalloc-link,smalloc-link' -verify-each -S %t.bc -o %t.twice
// RUN: FileCheck %s < %t.twice
// ALONE: @[[SITE:__smalloc_v1_site_[0-9a-f_]*]] = internal constant {{.*}}leaves the unit
// ALONE: !smalloc.options = !{
// CHECK-NOT: leaves the unit
// CHECK: picked at random through loaded indices
// CHECK-NOT: leaves the unit
// CHECK: call {{.*}}@__smalloc_v1_thunk_malloc(i64 {{[^,]*}}, ptr {{.*}}.cell)
#include <stdlib.h>
double walk(const double *cells, const int *pick, long n);
#ifdef MAIN
double work(const int *pick, long n) {
  double *cells = malloc((size_t)n * sizeof *cells);
  cells[n / 2] = 1;
  double s = walk(cells, pick, n);
  free(cells);
  return s;
}
#else
double walk(const double *cells, const int *pick, long n) {
  double s = 0;
  for (int k = 0; k < 8; k++)
    for (long i = 0; i < n; i++)
      s += cells[pick[i]];
  return s;
}
#endif
