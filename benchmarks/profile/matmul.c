// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// matmul: c = a b for square matrices of doubles, in textbook order: b is read down its columns.
//   matmul [n] [repeats]
#include <stdio.h>
#include <stdlib.h>

static double *matrix(size_t n, double start) {
  double *m = malloc(n * n * sizeof *m);
  if (!m) {
    perror("matmul");
    exit(1);
  }
  for (size_t i = 0; i < n * n; i++)
    m[i] = start + (double)(i % 10);
  return m;
}

__attribute__((noinline)) static void multiply(const double *a, const double *b, double *c,
                                               size_t n) {
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) {
      double sum = 0;
      for (size_t k = 0; k < n; k++)
        sum += a[i * n + k] * b[k * n + j];
      c[i * n + j] = sum;
    }
}

int main(int argc, char **argv) {
  size_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 800;
  int repeats = argc > 2 ? atoi(argv[2]) : 1;
  double *a = matrix(n, 1), *b = matrix(n, 2), *c = matrix(n, 0), sum = 0;
  for (int i = 0; i < repeats; i++)
    multiply(a, b, c, n);
  for (size_t i = 0; i < n * n; i++)
    sum += c[i];
  printf("matmul n=%zu sum=%.6e\n", n, sum);
  free(a);
  free(b);
  free(c);
  return 0;
}
