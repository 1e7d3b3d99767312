// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: nests that leave the first row and column (dynamic programming) or all borders (stencils), with long and with int
// indices. Half of the rows, every second row, or ten rows less leave pages untouched.
// RUN: %remarks %s 2>&1 | FileCheck %s --implicit-check-not='first touch'
// CHECK: first touch since every byte is written: malloc of n bytes in 'distance'
// CHECK: first touch since every byte is written: calloc of n*4 bytes in 'common'
// CHECK: first touch since every byte is written: malloc of n*8 bytes in 'stencil'
// CHECK: first touch since every byte is written: malloc of n*8 bytes in 'cube'
// CHECK: first touch since every byte is written: malloc of n*8 bytes in 'guarded'
#include <stdlib.h>
void use(double *);
int distance(long a, long b, const char *x, const char *y) {
  int *d = malloc((a + 1) * (b + 1) * sizeof *d);
  for (long i = 0; i <= a; i++)
    d[i * (b + 1)] = i;
  for (long j = 0; j <= b; j++)
    d[j] = j;
  for (long i = 1; i <= a; i++)
    for (long j = 1; j <= b; j++) {
      int up = d[(i - 1) * (b + 1) + j] + 1, left = d[i * (b + 1) + j - 1] + 1;
      int both = d[(i - 1) * (b + 1) + j - 1] + (x[i] != y[j]);
      d[i * (b + 1) + j] = up < left ? (up < both ? up : both) : (left < both ? left : both);
    }
  int last = d[a * (b + 1) + b];
  free(d);
  return last;
}
int common(int a, int b, const char *x, const char *y) {
  int *d = calloc((size_t)(a + 1) * (b + 1), sizeof *d);
  for (int i = 1; i <= a; i++)
    for (int j = 1; j <= b; j++) {
      int up = d[(i - 1) * (b + 1) + j], left = d[i * (b + 1) + j - 1];
      d[i * (b + 1) + j] = x[i - 1] == y[j - 1] ? d[(i - 1) * (b + 1) + j - 1] + 1 : up > left ? up : left;
    }
  int last = d[a * (b + 1) + b];
  free(d);
  return last;
}
void stencil(long w, long h, const double *q) {
  double *p = malloc(w * h * 8);
  for (long y = 1; y < h - 1; y++)
    for (long x = 1; x < w - 1; x++)
      p[y * w + x] = q[y * w + x - 1] + q[y * w + x + 1] + q[y * w - w + x] + q[y * w + w + x];
  use(p);
}
void cube(int n) {
  double *p = malloc((size_t)n * n * n * 8);
  for (int z = 1; z < n - 1; z++)
    for (int y = 1; y < n - 1; y++)
      for (int x = 1; x < n - 1; x++)
        p[((size_t)z * n + y) * n + x] = x + y * z;
  use(p);
}
void upper_half(long w, long h) {
  double *p = malloc(w * h * 8);
  for (long y = 0; y < h / 2; y++)
    for (long x = 0; x < w; x++)
      p[y * w + x] = x;
  use(p);
}
void each_second(long w, long h) {
  double *p = malloc(w * h * 8);
  for (long y = 0; y < h; y += 2)
    for (long x = 0; x < w; x++)
      p[y * w + x] = x;
  use(p);
}
void without_ten(long w, long h) {
  double *p = malloc(w * h * 8);
  for (long y = 5; y < h - 5; y++)
    for (long x = 0; x < w; x++)
      p[y * w + x] = x;
  use(p);
}
void five_less(long w, long h) {
  double *p = malloc(w * h * 8);
  for (long y = 0; y < h - 5; y++)
    for (long x = 0; x < w; x++)
      p[y * w + x] = x;
  use(p);
}
// LLVM 23 moves the guard of an inner loop in front of the nest.
void guarded(long w, long h, const double *q) {
  double *p = malloc(w * h * 8);
  if (w > 2)
    for (long y = 1; y < h - 1; y++)
      for (long x = 1; x < w - 1; x++)
        p[y * w + x] = q[y * w + x - 1] + q[y * w + x + 1];
  use(p);
}
void chosen(long w, long h, long m, const double *q) {
  double *p = malloc(w * h * 8);
  if (m > 2)
    for (long y = 1; y < h - 1; y++)
      for (long x = 1; x < w - 1; x++) {
        double s = 0;
        for (long k = 1; k < m - 1; k++)
          s += q[k * x];
        p[y * w + x] = s;
      }
  use(p);
}
