#include <stdlib.h>
typedef double one(const double *, const int *, long);
#define ONE(K) \
  static double g##K(const double *a, const int *index, long m) { \
    double s = K; \
    for (long i = 0; i < m; i++) \
      s += a[index[i]] + K; \
    return s; \
  }
#define USE \
  double f(long n, const int *index, long m, int kind) { \
    double *a = malloc(n * sizeof(double)); \
    for (long i = 0; i < n; i++) \
      a[i] = i; \
    double s = table[kind](a, index, m); \
    free(a); \
    return s; \
  }
