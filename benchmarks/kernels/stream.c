// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// stream: copy and triad over three arrays. Negative control: prefetchers hide most page walks, so
// superpages save little except the faults of the first touch.
//   stream [megabytes an array] [repeats]
#include <stdio.h>
#include <stdlib.h>

static void copy(double *restrict to, const double *restrict from, size_t n) {
  for (size_t i = 0; i < n; i++)
    to[i] = from[i];
}

static void triad(double *restrict a, const double *restrict b, const double *restrict c, double s,
                  size_t n) {
  for (size_t i = 0; i < n; i++)
    a[i] = b[i] + s * c[i];
}

int main(int argc, char **argv) {
  size_t megabytes = argc > 1 ? strtoull(argv[1], NULL, 10) : 400;
  size_t repeats = argc > 2 ? strtoull(argv[2], NULL, 10) : 8;
  size_t n = megabytes * (1 << 20) / sizeof(double);
  double *a = malloc(n * sizeof *a);
  double *b = malloc(n * sizeof *b);
  double *c = malloc(n * sizeof *c);
  if (!a || !b || !c) {
    perror("stream");
    return 1;
  }
  for (size_t i = 0; i < n; i++) {
    b[i] = (double)(i % 100);
    c[i] = 1;
  }
  for (size_t r = 0; r < repeats; r++) {
    triad(a, b, c, 2, n);
    copy(b, a, n);
  }
  double sum = 0;
  for (size_t i = 0; i < n; i++)
    sum += b[i];
  printf("stream megabytes=%zu repeats=%zu sum=%.0f\n", megabytes, repeats, sum);
  free(a);
  free(b);
  free(c);
  return 0;
}
