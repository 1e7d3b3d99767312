// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A sparse matrix with random columns, whose three arrays are filled together, times a vector.
#include <stdio.h>
#include <stdlib.h>
typedef struct {
  int n;
  long nnz;
  int *ptr, *idx;
  float *val;
} M;
int read_m(M *m, int n, int per) {
  m->n = n;
  m->nnz = (long)n * per;
  if (!(m->ptr = malloc((n + 1) * sizeof(int))))
    return -1;
  if (!(m->idx = malloc(m->nnz * sizeof(int))))
    return -1;
  if (!(m->val = malloc(m->nnz * sizeof(float))))
    return -1;
  unsigned s = 7;
  long k = 0;
  for (int i = 0; i < n; i++) {
    m->ptr[i] = k;
    for (int j = 0; j < per; j++) {
      s = s * 1664525 + 1013904223;
      m->idx[k] = s % n;
      m->val[k++] = 1.f / per;
    }
  }
  m->ptr[n] = k;
  return 0;
}
int main(int c, char **v) {
  M m;
  int n = c > 1 ? atoi(v[1]) : 3000000;
  if (read_m(&m, n, 10))
    return 1;
  float *x = malloc(n * sizeof *x), *y = calloc(n, sizeof *y);
  for (int i = 0; i < n; i++)
    x[i] = 1;
  for (int t = 0; t < 4; t++) {
    for (int i = 0; i < n; i++) {
      float a = 0;
      for (int k = m.ptr[i]; k < m.ptr[i + 1]; k++)
        a += m.val[k] * x[m.idx[k]];
      y[i] = a;
    }
    float *z = x;
    x = y;
    y = z;
  }
  double s = 0;
  for (int i = 0; i < n; i++)
    s += x[i];
  printf("%g\n", s);
}
