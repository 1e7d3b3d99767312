// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// bodies: all bodies attract each other. Negative control: they fit the first-level cache, and the
// time is spent in multiplications and divisions.
//   bodies [bodies] [steps]
#include <stdio.h>
#include <stdlib.h>

struct body {
  double x[3], v[3], mass;
};

int main(int argc, char **argv) {
  size_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 400;
  size_t steps = argc > 2 ? strtoull(argv[2], NULL, 10) : 2000;
  struct body *bodies = calloc(n, sizeof *bodies);
  if (!bodies) {
    perror("bodies");
    return 1;
  }
  for (size_t i = 0; i < n; i++) {
    for (size_t k = 0; k < 3; k++)
      bodies[i].x[k] = (double)((i * 7919 + k * 104729) % 1000) / 100;
    bodies[i].mass = 1 + (double)(i % 3);
  }
  for (size_t s = 0; s < steps; s++) {
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; j < n; j++) {
        double d[3], square = 0.01;
        for (size_t k = 0; k < 3; k++) {
          d[k] = bodies[j].x[k] - bodies[i].x[k];
          square += d[k] * d[k];
        }
        double pull = 1e-6 * bodies[j].mass / (square * square);
        for (size_t k = 0; k < 3; k++)
          bodies[i].v[k] += pull * d[k];
      }
    for (size_t i = 0; i < n; i++)
      for (size_t k = 0; k < 3; k++)
        bodies[i].x[k] += bodies[i].v[k];
  }
  double sum = 0;
  for (size_t i = 0; i < n; i++)
    sum += bodies[i].x[0] * bodies[i].mass;
  printf("bodies n=%zu steps=%zu sum=%.6f\n", n, steps, sum);
  free(bodies);
  return 0;
}
