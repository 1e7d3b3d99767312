// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// column_walk: sums the columns of a matrix whose rows have 512 doubles, one base page. So a column
// has one element in each page, and its page spread is the number of rows. ROWS is a constant: the
// plugin knows the spread when it compiles. passes: how often all columns are summed.
//   column_walk [passes]
#include <stdio.h>
#include <stdlib.h>

#ifndef ROWS
#error "-DROWS=N is missing"
#endif
enum { kColumns = 512 };

static double column_sum(const double *matrix, size_t column) {
  double sum = 0;
  for (size_t row = 0; row < ROWS; row++)
    sum += matrix[row * kColumns + column];
  return sum;
}

int main(int argc, char **argv) {
  const int passes = argc > 1 ? atoi(argv[1]) : 1;
  double *matrix = malloc((size_t)ROWS * kColumns * sizeof *matrix), sum = 0;
  if (!matrix) {
    perror("column_walk");
    return 1;
  }
  for (size_t i = 0; i < (size_t)ROWS * kColumns; i++)
    matrix[i] = (double)(i % 1021);
  for (int pass = 0; pass < passes; pass++)
    for (size_t column = 0; column < kColumns; column++)
      sum += column_sum(matrix, column);
  printf("column_walk rows=%zu passes=%d sum=%.0f\n", (size_t)ROWS, passes, sum);
  free(matrix);
  return 0;
}
