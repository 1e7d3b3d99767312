// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MG-like: multigrid V-cycles for a Poisson problem in three dimensions. Every level is partitioned
// by planes of z; each page has one user and few neighbours.
// Result: ten cycles must take the residual below a hundredth (0.002 for the default size).
#include "kernel.h"

enum { MOST_LEVELS = 12 };
static double *u[MOST_LEVELS], *f[MOST_LEVELS], *r[MOST_LEVELS];

static size_t cells(int n) { return (size_t)(n + 2) * (n + 2) * (n + 2); }

// r = f - A u; smoothing needs all old values (damped Jacobi), so it goes through r too.
static void residual(int level, int n) {
  const size_t row = n + 2, plane = row * row;
  const double *v = u[level], *g = f[level];
  double *out = r[level];
#pragma omp parallel for schedule(static)
  for (int k = 1; k <= n; k++)
    for (int j = 1; j <= n; j++)
      for (int i = 1; i <= n; i++) {
        size_t at = k * plane + j * row + i;
        out[at] = g[at] + v[at - 1] + v[at + 1] + v[at - row] + v[at + row] + v[at - plane] +
                  v[at + plane] - 6 * v[at];
      }
}
static void smooth(int level, int n, int times) {
  const size_t row = n + 2, plane = row * row;
  for (; times > 0; times--) {
    residual(level, n);
#pragma omp parallel for schedule(static)
    for (int k = 1; k <= n; k++)
      for (int j = 1; j <= n; j++)
        for (int i = 1; i <= n; i++)
          u[level][k * plane + j * row + i] += 6.0 / 7 / 6 * r[level][k * plane + j * row + i];
  }
}
static void cycle(int level, int n) {
  if (n <= 1) {
    smooth(level, n, 8);
    return;
  }
  const int m = n / 2;
  const size_t row = n + 2, plane = row * row, row2 = m + 2, plane2 = row2 * row2;
  smooth(level, n, 2);
  residual(level, n);
#pragma omp parallel for schedule(static)
  for (int k = 1; k <= m; k++)
    for (int j = 1; j <= m; j++)
      for (int i = 1; i <= m; i++) {
        double sum = 0; // eight cells into one; h^2 grows by four
        for (int c = 0; c < 8; c++)
          sum +=
              r[level][(2 * k - (c & 1)) * plane + (2 * j - (c >> 1 & 1)) * row + 2 * i - (c >> 2)];
        f[level + 1][k * plane2 + j * row2 + i] = sum / 8 * 4;
        u[level + 1][k * plane2 + j * row2 + i] = 0;
      }
  cycle(level + 1, m);
#pragma omp parallel for schedule(static)
  for (int k = 1; k <= n; k++)
    for (int j = 1; j <= n; j++)
      for (int i = 1; i <= n; i++)
        u[level][k * plane + j * row + i] +=
            u[level + 1][(k + 1) / 2 * plane2 + (j + 1) / 2 * row2 + (i + 1) / 2] * 0.5;
  smooth(level, n, 2);
}

int main(int argc, char **argv) {
  arguments o = parse(argc, argv, 48, 10, 4);
  int levels = 0;
  for (int n = o.size; n >= 1 && levels < MOST_LEVELS; n /= 2, levels++) {
    u[levels] = array(cells(n), 8);
    f[levels] = array(cells(n), 8);
    r[levels] = array(cells(n), 8);
#pragma omp parallel for if (o.parallel)
    for (size_t i = 0; i < cells(n); i++) {
      u[levels][i] = r[levels][i] = 0;
      f[levels][i] = levels ? 0 : random_at(i) - 0.5;
    }
  }
  const int n = o.size;
  const size_t row = n + 2, plane = row * row;
  double first = 0, last = 0;
  for (int step = 0; step <= o.steps; step++) {
    if (step)
      cycle(0, n);
    residual(0, n);
    double sum = 0;
    for (int k = 1; k <= n && (step == 0 || step == o.steps); k++)
      for (int j = 1; j <= n; j++)
        for (int i = 1; i <= n; i++) {
          double e = r[0][k * plane + j * row + i];
          sum += e * e;
        }
    if (step == 0)
      first = sum;
    last = sum;
  }
  return report("mg", sqrt(last / first), o.steps >= 10 ? 1e-2 : 1);
}
