// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: an object that is fully written is on superpages from 2 MiB on, whatever its loops do: one page fault
// instead of 512 at the same memory. A walk that pays keeps its reason, and no threshold above 2 MiB.
// RUN: %remarks %s 2>&1 | FileCheck %s
// RUN: %remarks -fplugin-arg-smalloc-first-touch=off %s 2>&1 | FileCheck --check-prefix=OFF %s
// RUN: %remarks -fplugin-arg-smalloc-model=paper %s 2>&1 | FileCheck --check-prefix=PAPER %s
// CHECK-DAG: superpages, at the first touch since every byte is written: malloc of 536870912 bytes in 'temporary': every byte is written: a superpage takes 1 page fault instead of 512 at the same memory; streamed in
// CHECK-DAG: superpages from 2.0 MiB on, at the first touch since every byte is written: malloc of n bytes in 'buffers': every byte is written
// CHECK-DAG: superpages from 2.0 MiB on, at the first touch since every byte is written: malloc of n*8 bytes in 'handed_on': every byte is written
// CHECK-DAG: superpages, at the first touch since every byte is written: malloc of 16777216 bytes in 'within_reach': every byte is written
// CHECK-DAG: superpages from 2.0 MiB on, at the first touch since every byte is written: malloc of n*8 bytes in 'picked': picked at random {{.*}}; every byte is written
// CHECK-DAG: base pages: malloc of 1048576 bytes in 'below_a_superpage'
// OFF-DAG: base pages: malloc of 536870912 bytes in 'temporary'
// OFF-DAG: undecided: malloc of n*8 bytes in 'handed_on'
// OFF-DAG: base pages: malloc of 16777216 bytes in 'within_reach'
// OFF-DAG: superpages from 8.2 MiB on, at the first touch since every byte is written: malloc of n*8 bytes in 'picked'
// PAPER-NOT: page fault
#include <stdlib.h>
#include <string.h>
void keep(void *);
double temporary(void) {
  size_t n = 1ul << 26;
  double *a = malloc(n * 8), s = 0;
  for (size_t i = 0; i < n; i++)
    a[i] = i;
  for (size_t i = 0; i < n; i++)
    s += a[i];
  free(a);
  return s;
}
// Each object counts by its size: its site makes many.
void buffers(const size_t *sizes, int many) {
  for (int i = 0; i < many; i++) {
    char *p = malloc(sizes[i]);
    memset(p, i, sizes[i]);
    keep(p);
    free(p);
  }
}
double *handed_on(size_t n) {
  double *a = malloc(n * 8);
  for (size_t i = 0; i < n; i++)
    a[i] = i;
  return a;
}
double within_reach(const int *index, long m) {
  size_t n = 1ul << 21;
  double *a = malloc(n * 8), s = 0;
  for (size_t i = 0; i < n; i++)
    a[i] = i;
  for (long i = 0; i < m; i++)
    s += a[i & (n - 1)];
  free(a);
  return s;
}
double picked(const int *index, long n, long m) {
  double *a = malloc(n * 8), s = 0;
  for (long i = 0; i < n; i++)
    a[i] = i;
  for (long i = 0; i < m; i++)
    s += a[index[i]];
  free(a);
  return s;
}
double below_a_superpage(void) {
  size_t n = 1ul << 17;
  double *a = malloc(n * 8), s = 0;
  for (size_t i = 0; i < n; i++)
    a[i] = i;
  for (size_t i = 0; i < n; i++)
    s += a[i];
  free(a);
  return s;
}
