// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: decisions are the same whatever the order of allocations and functions.
// RUN: rm -rf %t && mkdir %t
// RUN: %clang -O2 -c -o /dev/null -fplugin-arg-smalloc-sites=%t/a %s
// RUN: %clang -O2 -c -o /dev/null -fplugin-arg-smalloc-sites=%t/b -DSHUFFLED %s
// RUN: cat %t/a/*.json | grep -E '"(decision|function|id|pattern|min_bytes|why)"' | sed 's/line [0-9]*//' > %t/a.txt
// RUN: cat %t/b/*.json | grep -E '"(decision|function|id|pattern|min_bytes|why)"' | sed 's/line [0-9]*//' > %t/b.txt
// RUN: FileCheck %s < %t/a.txt
// RUN: FileCheck %s < %t/b.txt
// RUN: sort %t/a.txt > %t/a.sorted
// RUN: sort %t/b.txt > %t/b.sorted
// RUN: diff %t/a.sorted %t/b.sorted
// CHECK-DAG: "function": "first"
// CHECK-DAG: "function": "second"
#include <stdlib.h>
#define FIRST \
  __attribute__((noinline)) static double *first(long n) { return malloc(n * sizeof(double)); }
#define SECOND \
  __attribute__((noinline)) static double *second(long n) { return malloc(n * sizeof(double)); }
#ifdef SHUFFLED
SECOND FIRST
#else
FIRST SECOND
#endif
double f(long n, const int *index) {
#ifdef SHUFFLED
  double *b = second(n), *a = first(n), s = 0;
#else
  double *a = first(n), *b = second(n), s = 0;
#endif
  for (long i = 0; i < n; i++)
    a[i] = b[i] = i;
  for (long i = 0; i < n; i++)
    s += a[index[i]];
  for (long i = 0; i < n; i++)
    s += b[i] * s;
  free(a);
  free(b);
  return s;
}
