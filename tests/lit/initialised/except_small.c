// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a copy that the program makes element by element when the object is small, as libstdc++ 13 and newer do. A
// condition that skips the filling of large objects, or on another number, leaves pages untouched.
// RUN: %remarks %s 2>&1 | FileCheck %s --implicit-check-not='first touch'
// CHECK: except_small.c:[[@LINE+12]]:{{.*}}at the first touch since every byte is written: malloc of n*8 bytes in 'copied'
// CHECK: except_small.c:[[@LINE+21]]:{{.*}}at the first touch since every byte is written: malloc of n bytes in 'by_bytes'
// CHECK: except_small.c:[[@LINE+28]]:{{.*}}at the first touch since every byte is written: malloc of n*8 bytes in 'unless_small'
#include <stdlib.h>
#include <string.h>
static double gather(const double *a, const int *pick, long n) {
  double s = 0;
  for (long i = 0; i < n; i++)
    s += a[pick[i]];
  return s;
}
double copied(const double *from, size_t n, const int *pick, long m) {
  double *p = malloc(n * 8);
  if (n > 1)
    memcpy(p, from, n * 8);
  else if (n == 1)
    p[0] = from[0];
  double s = gather(p, pick, m);
  free(p);
  return s;
}
double by_bytes(const double *from, size_t bytes, const int *pick, long m) {
  double *p = malloc(bytes);
  if (bytes >= 4096)
    memcpy(p, from, bytes);
  double s = gather(p, pick, m);
  free(p);
  return s;
}
double unless_small(const double *from, size_t n, const int *pick, long m) {
  double *p = malloc(n * 8);
  if (!(n < 64))
    memcpy(p, from, n * 8);
  double s = gather(p, pick, m);
  free(p);
  return s;
}
double only_small(const double *from, size_t n, const int *pick, long m) {
  double *p = malloc(n * 8);
  if (n <= 64)
    memcpy(p, from, n * 8);
  double s = gather(p, pick, m);
  free(p);
  return s;
}
double only_huge(const double *from, size_t n, const int *pick, long m) {
  double *p = malloc(n * 8);
  if (n > 300000)
    memcpy(p, from, n * 8);
  double s = gather(p, pick, m);
  free(p);
  return s;
}
double another_number(const double *from, size_t n, const int *pick, long m) {
  double *p = malloc(n * 8);
  if (m > 64)
    memcpy(p, from, n * 8);
  double s = gather(p, pick, m);
  free(p);
  return s;
}
double only_huge_bytes(const double *from, size_t bytes, const int *pick, long m) {
  double *p = malloc(bytes);
  if (bytes > 4 << 20)
    memcpy(p, from, bytes);
  double s = gather(p, pick, m);
  free(p);
  return s;
}
