// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: -fno-builtin says nothing of where memory comes from: the calls are sites, by name and prototype, and
// nothing is assumed of their results.
// RUN: %clang -O2 -fno-builtin -fplugin-arg-smalloc-rewrite=all -S -emit-llvm -o - %s | FileCheck %s
// RUN: %remarks -fno-builtin %s 2>&1 | FileCheck --check-prefix=REMARK %s
#include <stdlib.h>
// CHECK-LABEL: @plain(
// CHECK-NOT: noalias
// CHECK: call {{.*}}ptr @__smalloc_v1_thunk_malloc(
void *plain(size_t n) { return malloc(n); }
// REMARK: superpages from {{.*}}: picked at random
double pick(const int *at, long n) {
  double *cells = malloc(n * sizeof *cells), s = 0;
  for (long i = 0; i < n; i++)
    cells[i] = i;
  for (int t = 0; t < 9; t++)
    for (long i = 0; i < n; i++)
      s += cells[at[i]];
  free(cells);
  return s;
}
