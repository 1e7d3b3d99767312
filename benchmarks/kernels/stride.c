// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// stride: passes over an array with growing steps, the second kernel of Magee and Qasem (2009, 5).
// Small steps stream (the prefetcher hides walks); from one page on, each access is a new page.
//   stride [megabytes] [largest step in elements] [accesses for each step]
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t walk(uint32_t *a, size_t n, size_t step, size_t passes) {
  uint64_t sum = 0;
  for (size_t p = 0; p < passes; p++)
    for (size_t i = 0; i < n; i += step) {
      a[i] += (uint32_t)p + 1;
      sum += a[i];
    }
  return sum;
}

int main(int argc, char **argv) {
  size_t megabytes = argc > 1 ? strtoull(argv[1], NULL, 10) : 1024;
  size_t largest = argc > 2 ? strtoull(argv[2], NULL, 10) : 8192;
  size_t accesses = argc > 3 ? strtoull(argv[3], NULL, 10) : 20000000;
  size_t n = megabytes * (1 << 20) / sizeof(uint32_t);
  uint32_t *a = malloc(n * sizeof *a);
  if (!a) {
    perror("stride");
    return 1;
  }
  for (size_t i = 0; i < n; i++)
    a[i] = (uint32_t)i;
  for (size_t step = 1; step <= largest; step *= 2) {
    size_t passes = 1 + accesses / (n / step + 1);
    printf("step=%zu sum=%llu\n", step, (unsigned long long)walk(a, n, step, passes));
  }
  free(a);
  return 0;
}
