// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: munmap ends a mapping, it does not make it known to others: what is only streamed is base pages for good.
// RUN: %remarks -fplugin-arg-smalloc-first-touch=off %s 2>&1 | FileCheck %s
// CHECK: remark: base pages: mmap of n*8 bytes in 'sum': streamed
#include <stddef.h>
#include <sys/mman.h>
double sum(long n) {
  double *a = mmap(NULL, n * sizeof *a, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), s = 0;
  for (long i = 0; i < n; i++)
    a[i] = i;
  for (long i = 0; i < n; i++)
    s = s * a[i] + 1;
  munmap(a, n * sizeof *a);
  return s;
}
