// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// colsum: column sums and row sums of a row-major matrix. The column pass reads one element a page;
// the row pass streams over the same memory. The object has both patterns; the worse one decides.
//   colsum [rows] [columns] [repeats]
#include <stdio.h>
#include <stdlib.h>

struct matrix {
  size_t rows, columns;
  double *at;
};

static struct matrix matrix_new(size_t rows, size_t columns) {
  struct matrix m = {rows, columns, malloc(rows * columns * sizeof(double))};
  if (!m.at) {
    perror("colsum");
    exit(1);
  }
  for (size_t i = 0; i < rows * columns; i++)
    m.at[i] = (double)(i % 1021) - 500;
  return m;
}

static double column_sum(const struct matrix *m, size_t column) {
  double sum = 0;
  for (size_t r = 0; r < m->rows; r++)
    sum += m->at[r * m->columns + column];
  return sum;
}

static double row_sum(const struct matrix *m, size_t row) {
  double sum = 0;
  for (size_t c = 0; c < m->columns; c++)
    sum += m->at[row * m->columns + c];
  return sum;
}

int main(int argc, char **argv) {
  size_t rows = argc > 1 ? strtoull(argv[1], NULL, 10) : 100000;
  size_t columns = argc > 2 ? strtoull(argv[2], NULL, 10) : 2000;
  size_t repeats = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
  struct matrix m = matrix_new(rows, columns);
  double *sums = calloc(columns, sizeof *sums);
  double by_rows = 0, by_columns = 0;
  if (!sums)
    return 1;
  for (size_t k = 0; k < repeats; k++)
    for (size_t c = 0; c < columns; c++)
      sums[c] += column_sum(&m, c);
  for (size_t r = 0; r < rows; r++)
    by_rows += row_sum(&m, r);
  for (size_t c = 0; c < columns; c++)
    by_columns += sums[c];
  printf("colsum %zux%zu by_columns=%.0f by_rows=%.0f\n", rows, columns, by_columns,
         by_rows * (double)repeats);
  free(sums);
  free(m.at);
  return by_columns == by_rows * (double)repeats ? 0 : 1;
}
