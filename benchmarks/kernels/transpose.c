// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// transpose: out-of-place transposition of an n x n matrix of doubles, row by row of the source.
// The destination is walked down its columns: a new page for each element if a row exceeds a page.
// From Magee and Qasem 2009, section 5 (n = 50..300 there; 4096 and more for today's TLBs).
//   transpose [n] [repeats]
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void fill(double *m, size_t n) {
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++)
      m[i * n + j] = (double)((i * 31 + j * 17) % 1009);
}

static void transpose(double *to, const double *from, size_t n) {
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++)
      to[j * n + i] = from[i * n + j];
}

static uint64_t checksum(const double *m, size_t n) {
  uint64_t sum = 0;
  for (size_t i = 0; i < n * n; i++)
    sum = sum * 3 + (uint64_t)m[i];
  return sum;
}

int main(int argc, char **argv) {
  size_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 9000;
  size_t repeats =
      argc > 2 ? strtoull(argv[2], NULL, 10) : (n > 2000 ? 3 : 1 + 400000000 / (n * n + 1));
  double *a = malloc(n * n * sizeof *a);
  double *b = malloc(n * n * sizeof *b);
  if (!a || !b) {
    perror("transpose");
    return 1;
  }
  fill(a, n);
  for (size_t r = 0; r < repeats; r++) {
    transpose(b, a, n);
    a[r % (n * n)] += 1; // gives the next round new values to move
  }
  printf("transpose n=%zu repeats=%zu checksum=%016llx\n", n, repeats,
         (unsigned long long)checksum(b, n));
  free(a);
  free(b);
  return 0;
}
