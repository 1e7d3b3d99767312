// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// spmv: gradient descent for sparse least squares, y = A x and x = x - w A' y with A in CSR.
// The value and index arrays stream; x is gathered in one product and scattered in the other.
//   spmv [log2 of the rows] [log2 of the columns] [entries a row] [iterations]
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct csr {
  size_t rows, columns, per_row;
  size_t *start;
  uint32_t *column;
  double *value;
};

static uint64_t random_state = 42;
static uint64_t random_next(void) {
  uint64_t z = random_state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static void *allocate(size_t count, size_t size) {
  void *p = malloc(count * size);
  if (!p) {
    perror("spmv");
    exit(1);
  }
  return p;
}

static void csr_random(struct csr *a) {
  a->start = allocate(a->rows + 1, sizeof *a->start);
  a->column = allocate(a->rows * a->per_row, sizeof *a->column);
  a->value = allocate(a->rows * a->per_row, sizeof *a->value);
  size_t k = 0;
  for (size_t r = 0; r < a->rows; r++) {
    a->start[r] = k;
    for (size_t e = 0; e < a->per_row; e++, k++) {
      uint64_t x = random_next();
      a->column[k] = (uint32_t)(x % a->columns);
      a->value[k] = (double)(x >> 40) / (1 << 24) - 0.5;
    }
  }
  a->start[a->rows] = k;
}

static void multiply(const struct csr *a, const double *x, double *y) {
  for (size_t r = 0; r < a->rows; r++) {
    double sum = 0;
    for (size_t k = a->start[r]; k < a->start[r + 1]; k++)
      sum += a->value[k] * x[a->column[k]];
    y[r] = sum;
  }
}

static void subtract_transposed(const struct csr *a, const double *y, double weight, double *x) {
  for (size_t r = 0; r < a->rows; r++)
    for (size_t k = a->start[r]; k < a->start[r + 1]; k++)
      x[a->column[k]] -= weight * a->value[k] * y[r];
}

static double norm(const double *x, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++)
    sum += x[i] * x[i];
  return sum;
}

int main(int argc, char **argv) {
  struct csr a = {0};
  a.rows = (size_t)1 << (argc > 1 ? atoi(argv[1]) : 22);
  a.columns = (size_t)1 << (argc > 2 ? atoi(argv[2]) : 26);
  a.per_row = argc > 3 ? strtoull(argv[3], NULL, 10) : 8;
  int iterations = argc > 4 ? atoi(argv[4]) : 2;
  csr_random(&a);
  double *x = allocate(a.columns, sizeof *x);
  double *y = allocate(a.rows, sizeof *y);
  for (size_t i = 0; i < a.columns; i++)
    x[i] = (double)(i % 7) - 3;
  for (int i = 0; i < iterations; i++) {
    multiply(&a, x, y);
    subtract_transposed(&a, y, 0.25, x);
    printf("iteration %d residual=%.6e\n", i, norm(y, a.rows));
  }
  printf("spmv rows=%zu columns=%zu norm=%.6e\n", a.rows, a.columns, norm(x, a.columns));
  free(a.start);
  free(a.column);
  free(a.value);
  free(x);
  free(y);
  return 0;
}
