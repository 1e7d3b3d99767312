/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A user's program. It reads a matrix down its columns (each step on another page), so that
 * superpages may pay for its allocation site. Prints the sum, and whether libsmalloc is in the
 * process. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double part_sum(const double *matrix, size_t n);

static int library_loaded(void) {
  FILE *maps = fopen("/proc/self/maps", "r");
  char line[4096];
  int found = 0;
  if (!maps)
    return 0;
  while (fgets(line, sizeof line, maps))
    found |= strstr(line, "/libsmalloc.so") != NULL;
  fclose(maps);
  return found;
}

int main(int argc, char **argv) {
  size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 1024;
  double *matrix = malloc(n * n * sizeof *matrix);
  double sum = 0;
  if (!matrix)
    return 1;
  for (size_t i = 0; i < n * n; i++)
    matrix[i] = (double)(i % 7);
  for (size_t column = 0; column < n; column++)
    for (size_t row = 0; row < n; row++)
      sum += matrix[row * n + column];
  printf("sum %.0f part %.0f library %s\n", sum, part_sum(matrix, n),
         library_loaded() ? "loaded" : "absent");
  free(matrix);
  return 0;
}
