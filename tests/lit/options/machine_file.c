// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a machine file is used: its reach, its name and its source show.
// RUN: echo '{"schema":"smalloc.machine/1","name":"mine","tlb":[{"level":1,"kind":"data","page_bytes":[4096],"entries":64,"ways":4},{"level":2,"kind":"data","page_bytes":[4096,2097152],"entries":{"value":100,"source":"measured"},"ways":4}]}' > %t.json
// RUN: rm -rf %t && %remarks -fplugin-arg-smalloc-machine=%t.json -fplugin-arg-smalloc-sites=%t %s 2>&1 | FileCheck %s
// RUN: cat %t/*.json | FileCheck --check-prefix=JSON %s
// CHECK: reach 100 pages of mine
// JSON: "name": "mine"
// JSON: "reach_pages": 100
// JSON: "source": "file"
#include <stdlib.h>
double f(const int *x, long n) {
  double *a = malloc(n * sizeof(double)), s = 0;
  for (long i = 0; i < n; i++)
    s += a[x[i]] += i;
  free(a);
  return s;
}
