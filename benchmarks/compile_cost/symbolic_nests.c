// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// symbolic_nests: a unit that is nearly all loops: nests over matrices that it allocates, with
// sizes known only at run time, in seven shapes and many copies that differ in a constant. Only
// compiled (scripts/compile-cost).
#include <stdlib.h>

#define NESTS(K)                                                                                   \
  double by_columns_##K(int n, int m, const double *q) {                                           \
    double *a = malloc((size_t)n * m * sizeof *a), sum = 0;                                        \
    for (int i = 0; i < n; i++)                                                                    \
      for (int j = 0; j < m; j++)                                                                  \
        a[i * m + j] = q[(i * K + j) % n];                                                         \
    for (int j = 0; j < m; j++)                                                                    \
      for (int i = 0; i < n; i++)                                                                  \
        sum += a[i * m + j] * K;                                                                   \
    free(a);                                                                                       \
    return sum;                                                                                    \
  }                                                                                                \
  void product_##K(long n, const double *a, const double *b, double *c) {                          \
    for (long i = 0; i < n; i++)                                                                   \
      for (long j = 0; j < n; j++)                                                                 \
        for (long k = 0; k < n; k++)                                                               \
          c[i * n + j] += a[i * n + k] * b[k * n + j] * K;                                         \
  }                                                                                                \
  double triangle_##K(long n, long m, double x) {                                                  \
    double *a = calloc(n, m * sizeof *a), sum = 0;                                                 \
    for (long i = K; i < n; i++)                                                                   \
      for (long j = 0; j < i && j < m; j++)                                                        \
        a[i * m + j] += x * j;                                                                     \
    for (long j = 0; j < m; j++)                                                                   \
      for (long i = j + K; i < n; i++)                                                             \
        sum += a[i * m + j];                                                                       \
    free(a);                                                                                       \
    return sum;                                                                                    \
  }                                                                                                \
  double stencil_##K(int n, int m, int steps) {                                                    \
    double *a = malloc((size_t)n * m * sizeof *a), *b = malloc((size_t)n * m * sizeof *b);         \
    for (int i = 0; i < n * m; i++)                                                                \
      a[i] = b[i] = i % K;                                                                         \
    for (int t = 0; t < steps; t++)                                                                \
      for (int j = 1; j < m - 1; j++)                                                              \
        for (int i = 1; i < n - 1; i++)                                                            \
          a[i * m + j] =                                                                           \
              (b[(i - 1) * m + j] + b[(i + 1) * m + j] + b[i * m + j - 1] + b[i * m + j + 1]) / K; \
    double last = a[n * m / 2];                                                                    \
    free(a);                                                                                       \
    free(b);                                                                                       \
    return last;                                                                                   \
  }                                                                                                \
  long gathered_##K(const int *index, long n, long entries) {                                      \
    long *table = malloc(entries * sizeof *table), sum = 0;                                        \
    for (long i = 0; i < entries; i++)                                                             \
      table[i] = i ^ K;                                                                            \
    for (long i = 0; i < n; i++)                                                                   \
      sum += table[index[i]];                                                                      \
    free(table);                                                                                   \
    return sum;                                                                                    \
  }                                                                                                \
  double rows_##K(int n, int m) {                                                                  \
    double **a = malloc(n * sizeof *a), sum = 0;                                                   \
    for (int i = 0; i < n; i++)                                                                    \
      a[i] = calloc(m, sizeof **a);                                                                \
    for (int j = K; j < m; j++)                                                                    \
      for (int i = 0; i < n; i++)                                                                  \
        sum += a[i][j];                                                                            \
    for (int i = 0; i < n; i++)                                                                    \
      free(a[i]);                                                                                  \
    free(a);                                                                                       \
    return sum;                                                                                    \
  }                                                                                                \
  void transposed_##K(int n, int m, int step, const float *in, float *out) {                       \
    for (int i = 0; i < n; i += K)                                                                 \
      for (int j = 0; j < m; j++)                                                                  \
        out[(long)j * n + i] = in[(long)i * m * step + j];                                         \
  }

NESTS(2)
NESTS(3)
NESTS(4)
NESTS(5)
NESTS(6)
NESTS(7)
NESTS(8)
NESTS(9)
NESTS(10)
