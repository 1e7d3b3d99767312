// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a measured walk curve is used between its points, not only at its ends: 262,144 pages are half way
// (in the logarithm) between 65,536 at 40 cycles and 1,048,576 at 240.
// RUN: echo '{"schema":"smalloc.machine/1","name":"curve","tlb":[{"level":1,"page_bytes":[4096],"entries":2048,"ways":8}],"walk_cost":[{"page_bytes":4096,"pages":4096,"cycles":{"value":40,"source":"measured"}},{"page_bytes":4096,"pages":1048576,"cycles":240},{"page_bytes":4096,"pages":65536,"cycles":40}]}' > %t.json
// RUN: %remarks -fplugin-arg-smalloc-machine=%t.json %s 2>&1 | FileCheck %s
// CHECK: 0.99 TLB misses an access, translation saving 139 cycles an access
#include <stdlib.h>
double f(const int *x, long n) {
  double *a = malloc(1 << 30), s = 0;
  for (long i = 0; i < n; i++)
    s += a[x[i] & 0x7ffffff] += i;
  free(a);
  return s;
}
