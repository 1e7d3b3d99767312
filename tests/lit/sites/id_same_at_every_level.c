// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a site's id is the same at -O1, -O2, -O3, -Os, and with -g.
// RUN: rm -rf %t && mkdir %t
// RUN: %clang -O1 -c -o /dev/null -fplugin-arg-smalloc-sites=%t/O1 %s
// RUN: %clang -O2 -c -o /dev/null -fplugin-arg-smalloc-sites=%t/O2 %s
// RUN: %clang -O3 -c -o /dev/null -fplugin-arg-smalloc-sites=%t/O3 %s
// RUN: %clang -Os -c -o /dev/null -fplugin-arg-smalloc-sites=%t/Os %s
// RUN: %clang -O2 -g -c -o /dev/null -fplugin-arg-smalloc-sites=%t/g %s
// RUN: grep '"id"' %t/O1/*.json | sort > %t/O1.ids
// RUN: grep '"id"' %t/O2/*.json | sort > %t/O2.ids
// RUN: grep '"id"' %t/O3/*.json | sort > %t/O3.ids
// RUN: grep '"id"' %t/Os/*.json | sort > %t/Os.ids
// RUN: grep '"id"' %t/g/*.json | sort > %t/g.ids
// RUN: FileCheck %s < %t/O1.ids
// RUN: diff %t/O1.ids %t/O2.ids
// RUN: diff %t/O1.ids %t/O3.ids
// RUN: diff %t/O1.ids %t/Os.ids
// RUN: diff %t/O1.ids %t/g.ids
// CHECK-COUNT-4: "id": "{{[0-9a-f]+}}"
#include <stdlib.h>
static double *row(size_t n) { return malloc(n * sizeof(double)); }
double **matrix(size_t n) {
  double **m = malloc(n * sizeof *m);
  for (size_t i = 0; i < n; i++)
    m[i] = row(n);
  return m;
}
void *two(size_t n, int c) { return c ? calloc(n, 16) : malloc(n); }
