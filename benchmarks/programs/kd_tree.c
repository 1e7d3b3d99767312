// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A k-d tree: nodes from malloc one by one, then nearest neighbours of random points.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
typedef struct N {
  double p[3];
  int id;
  struct N *l, *r;
} N;
static int ax;
static int cmp(const void *a, const void *b) {
  double x = ((double *)a)[ax], y = ((double *)b)[ax];
  return x < y ? -1 : x > y;
}
static N *build(double (*p)[3], int n, int d) {
  if (n <= 0)
    return 0;
  ax = d % 3;
  qsort(p, n, sizeof *p, cmp);
  N *t = malloc(sizeof *t);
  memcpy(t->p, p[n / 2], 24);
  t->id = n;
  t->l = build(p, n / 2, d + 1);
  t->r = build(p + n / 2 + 1, n - n / 2 - 1, d + 1);
  return t;
}
static long cnt;
static void q(N *t, double *x, double r, int d) {
  if (!t)
    return;
  double s = 0;
  for (int i = 0; i < 3; i++)
    s += (t->p[i] - x[i]) * (t->p[i] - x[i]);
  if (s < r * r)
    cnt++;
  double e = x[d % 3] - t->p[d % 3];
  if (e < r)
    q(t->l, x, r, d + 1);
  if (e > -r)
    q(t->r, x, r, d + 1);
}
int main(int c, char **v) {
  int n = c > 1 ? atoi(v[1]) : 400000;
  double (*p)[3] = malloc(n * sizeof *p);
  srand(1);
  for (int i = 0; i < n; i++)
    for (int k = 0; k < 3; k++)
      p[i][k] = rand() / (double)RAND_MAX;
  N *t = build(p, n, 0);
  for (int i = 0; i < 60000; i++) {
    double x[3] = {rand() / (double)RAND_MAX, rand() / (double)RAND_MAX, rand() / (double)RAND_MAX};
    q(t, x, .02, 0);
  }
  printf("%ld\n", cnt);
}
