// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a machine file's cost of a page walk is the saving's unit.
// RUN: echo '{"schema":"smalloc.machine/1","name":"slow","tlb":[{"level":1,"page_bytes":[4096],"entries":2048,"ways":8}],"walk_cost":[{"page_bytes":4096,"pages":1,"cycles":{"value":400,"source":"measured"}},{"page_bytes":4096,"pages":1000000,"cycles":400}]}' > %t.json
// RUN: %remarks -fplugin-arg-smalloc-machine=%t.json %s 2>&1 | FileCheck %s
// CHECK: 0.88 TLB misses an access, translation saving 350 cycles an access
#include <stdlib.h>
double f(const int *x, long n) {
  double *a = malloc(n * sizeof(double)), s = 0;
  for (long i = 0; i < n; i++)
    s += a[x[i]] += i;
  free(a);
  return s;
}
