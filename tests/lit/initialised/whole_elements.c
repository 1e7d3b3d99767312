// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a copy of whole elements, whose length is the size rounded down to them, as in libc++'s vector of a range. A copy
// of whole pages or of the size modulo another leaves more than an element.
// RUN: %remarks %s 2>&1 | FileCheck %s --implicit-check-not='first touch'
// CHECK: whole_elements.c:[[@LINE+10]]:{{.*}}at the first touch since every byte is written: malloc of n bytes in 'whole'
#include <stdlib.h>
#include <string.h>
static double gather(const double *a, const int *pick, long n) {
  double s = 0;
  for (long i = 0; i < n; i++)
    s += a[pick[i]];
  return s;
}
double whole(const double *from, size_t bytes, const int *pick, long m) {
  double *p = malloc(bytes);
  memcpy(p, from, bytes & 0x7ffffffffffffff8);
  double s = gather(p, pick, m);
  free(p);
  return s;
}
double pages(const double *from, size_t bytes, const int *pick, long m) {
  double *p = malloc(bytes);
  memcpy(p, from, bytes & -4096);
  double s = gather(p, pick, m);
  free(p);
  return s;
}
double rest(const double *from, size_t bytes, const int *pick, long m) {
  double *p = malloc(bytes);
  memcpy(p, from, bytes & 0xfffff8);
  double s = gather(p, pick, m);
  free(p);
  return s;
}
