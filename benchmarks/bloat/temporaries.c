// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// temporaries: a time step allocates three work arrays, fills and uses them column by column, and
// frees them. Between steps only the state is live. Shows how much is kept for the next step and at
// the end.
//   temporaries [MiB of an array] [steps]
#include "report.h"

int main(int argc, char **argv) {
  size_t bytes = (argc > 1 ? strtoull(argv[1], NULL, 10) : 24) << 20, n = bytes / 8, columns = 1024,
         rows = n / columns;
  size_t steps = argc > 2 ? strtoull(argv[2], NULL, 10) : 30;
  uint64_t sum = 0, *state = bloat_check(calloc(n, 8));
  for (size_t step = 0; step < steps; step++) {
    uint64_t *a = bloat_check(malloc(bytes)), *b = bloat_check(malloc(bytes)),
             *c = bloat_check(malloc(bytes));
    for (size_t i = 0; i < n; i++)
      a[i] = state[i] + step, b[i] = i ^ step, c[i] = 0;
    for (size_t k = 0; k < columns; k++)
      for (size_t r = 0; r < rows; r++)
        c[r * columns + k] += a[r * columns + k] * 3 + b[r * columns + k];
    for (size_t i = 0; i < n; i++)
      state[i] = c[i];
    sum = sum * 31 + c[step % n];
    free(a), free(b), free(c);
  }
  bloat_report("temporaries", bytes, sum);
  return 0;
}
