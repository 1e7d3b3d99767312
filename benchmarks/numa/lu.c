// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LU-like: symmetric successive over-relaxation on a Poisson problem of several variables, in
// wavefronts. Each thread owns rows of y and works on plane z once its neighbour has finished it. A
// page holds the rows of several threads, so no single node is right for it.
// Result: 24 steps must take the residual below a quarter (0.157 for the default size, any
// threads).
#include "kernel.h"
#include <omp.h>

enum { C = 4 };

int main(int argc, char **argv) {
  arguments o = parse(argc, argv, 36, 24, 4);
  const int n = o.size, m = n + 2;
  const size_t row = (size_t)m * C, plane = row * m;
  double *u = array(plane * m, sizeof *u), *f = array(plane * m, sizeof *f);
#pragma omp parallel for if (o.parallel)
  for (int k = 0; k < m; k++)
    for (size_t i = 0; i < plane; i++) {
      u[k * plane + i] = 0;
      f[k * plane + i] = random_at(k * plane + i) - 0.3;
    }
  const double omega = 1.5;
  double first = 0, last = 0;
  for (int step = 0; step <= o.steps; step++) {
    double sum = 0;
#pragma omp parallel reduction(+ : sum)
    {
      const int t = omp_get_thread_num(), threads = omp_get_num_threads();
      const int low = 1 + n * t / threads, high = 1 + n * (t + 1) / threads;
      for (int half = 0; half < 2 && step < o.steps; half++) // up, then down again
        for (int front = 0; front < n + threads - 1; front++) {
          const int place = half ? threads - 1 - t : t, k0 = front - place;
          if (k0 >= 0 && k0 < n) {
            const int k = half ? n - k0 : 1 + k0;
            for (int jj = 0; jj < high - low; jj++) {
              const int j = half ? high - 1 - jj : low + jj;
              for (int i = 1; i <= n; i++)
                for (int c = 0; c < C; c++) {
                  size_t at = k * plane + j * row + (size_t)i * C + c;
                  double r = f[at] + u[at - C] + u[at + C] + u[at - row] + u[at + row] +
                             u[at - plane] + u[at + plane] - 6 * u[at];
                  u[at] += omega / 6 * r;
                }
            }
          }
#pragma omp barrier
        }
      if (step == 0 || step == o.steps) {
        for (int k = 1; k <= n; k++)
          for (int j = low; j < high; j++)
            for (size_t i = C; i < (size_t)(n + 1) * C; i++) {
              size_t at = k * plane + j * row + i;
              double r = f[at] + u[at - C] + u[at + C] + u[at - row] + u[at + row] + u[at - plane] +
                         u[at + plane] - 6 * u[at];
              sum += step ? r * r : f[at] * f[at];
            }
      }
    }
    if (step == 0)
      first = sum;
    last = sum;
  }
  free(u);
  free(f);
  return report("lu", sqrt(last / first), o.steps >= 24 ? 0.25 : 1);
}
