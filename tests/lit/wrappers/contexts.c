// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: calls of one wrapper of this unit are decided apart, and go to its second entry with their cells.
// RUN: %remarks -fplugin-arg-smalloc-first-touch=off %s 2>&1 | FileCheck --check-prefix=REMARK %s
// RUN: %clang -fplugin-arg-smalloc-first-touch=off -O2 -S -emit-llvm -o - %s | FileCheck %s
// REMARK-DAG: superpages from {{.*}}: grab of n*8 bytes in 'work': picked at random
// REMARK-DAG: base pages: grab of n*8 bytes in 'work': streamed in
// CHECK: call {{.*}}@__smalloc_v1_with_cell_grab(i64 {{[^,]*}}, ptr {{.*}}@[[HOT:__smalloc_v1_site_[0-9a-f_]*]].cell)
// CHECK: define internal {{.*}}ptr @__smalloc_v1_with_cell_grab(i64 {{[^,]*}}, ptr %[[CELL:[0-9]+]])
// CHECK: call {{.*}}@__smalloc_v1_thunk_malloc(i64 {{[^,]*}}, ptr {{.*}}%[[CELL]])
#include <stdlib.h>
static __attribute__((noinline)) void *grab(size_t n) {
  void *p = malloc(n);
  if (!p)
    abort();
  return p;
}
double work(const int *pick, long n) {
  double *hot = grab(n * 8), *cold = grab(n * 8), s = 0;
  for (long i = 0; i < n; i++)
    hot[i] = cold[i] = i;
  for (long k = 0; k < 3; k++)
    for (long i = 0; i < n; i++)
      s += hot[pick[i]];
  for (long i = 0; i < n; i++)
    s += cold[i];
  free(hot);
  free(cold);
  return s;
}
