// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: loops and copies that leave some bytes at the object's first or last end: counted from 1, the first element by
// itself, a sum before each element, an element to spare, the zero behind a text, and a branch for short texts. Pages at an end, or the gaps of
// many small objects, are not touched.
// RUN: %remarks %s 2>&1 | FileCheck %s --implicit-check-not='first touch'
// CHECK: first touch since every byte is written: malloc of n*8 bytes in 'from_one'
// CHECK: first touch since every byte is written: malloc of n*8 bytes in 'first_alone'
// CHECK: first touch since every byte is written: malloc of n*8 bytes in 'sums'
// CHECK: first touch since every byte is written: malloc of n*8 bytes in 'some_to_spare'
// CHECK: first touch since every byte is written: malloc of n*8 bytes in 'inner'
// CHECK: first touch since every byte is written: malloc of n bytes in 'text'
// CHECK: first touch since every byte is written: malloc of n bytes in 'long_text'
#include <stdlib.h>
#include <string.h>
static double gather(double *a, const int *pick, long n) {
  double s = 0;
  for (long i = 0; i < n; i++)
    s += a[pick[i]];
  free(a);
  return s;
}
double from_one(long n, const int *pick, long m) {
  double *p = malloc((n + 1) * 8);
  for (long i = 1; i <= n; i++)
    p[i] = i;
  return gather(p, pick, m);
}
double first_alone(long n, const int *pick, long m) {
  double *p = malloc(n * 8);
  p[0] = 1;
  for (long i = 1; i < n; i++)
    p[i] = p[i - 1] * 1.5;
  return gather(p, pick, m);
}
double sums(long n, const int *of, const int *pick, long m) {
  double *p = malloc((n + 1) * 8);
  p[0] = 0;
  for (long i = 0; i < n; i++)
    p[i + 1] = p[i] + of[i];
  return gather(p, pick, m);
}
double some_to_spare(long n, const int *pick, long m) {
  double *p = malloc((n + 8) * 8);
  for (long i = 0; i < n; i++)
    p[i] = i;
  return gather(p, pick, m);
}
double inner(long n, const int *pick, long m) {
  double *p = malloc(n * 8);
  for (long i = 1; i < n - 1; i++)
    p[i] = i;
  return gather(p, pick, m);
}
double text(const char *from, size_t n, const int *pick, long m) {
  char *p = malloc(n + 1);
  memcpy(p, from, n);
  p[n] = 0;
  return gather((double *)p, pick, m);
}
double long_text(size_t n, const int *pick, long m) {
  char here[16], *p = here;
  if (n > 15)
    p = malloc(n + 1);
  switch (n) {
  case 0:
    break;
  case 1:
    p[0] = 'x';
    break;
  default:
    memset(p, 'x', n);
  }
  p[n] = 0;
  return n > 15 ? gather((double *)p, pick, m) : p[0];
}
double pages_to_spare(long n, const int *pick, long m) {
  double *p = malloc((n + 1000) * 8);
  for (long i = 0; i < n; i++)
    p[i] = i;
  return gather(p, pick, m);
}
struct node {
  struct node *next;
  char unused[200];
};
struct node *small(long n) {
  struct node *all = 0;
  for (long i = 0; i < n; i++) {
    struct node *p = malloc(sizeof *p);
    p->next = all;
    all = p;
  }
  return all;
}
