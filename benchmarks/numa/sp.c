// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SP-like: alternating directions with scalar pentadiagonal systems, 1 + r D + s D^2, for five
// variables that lie in arrays of their own. x and y are partitioned by planes of z, the z sweep by
// rows of y.
// Result: the lowest mode must decay by 1 / (1 + r lambda + s lambda^2) for each direction and step.
#include "kernel.h"

enum { C = 5 };
static const double R = 0.2, S = 0.05;

// The factors of the pentadiagonal matrix: the same for all lines, so computed once. D^2 of fixed ends has 5
// instead of 6 in its corners.
typedef struct {
  double diagonal, below1, below2, above1;
} factors;

static void factorise(factors *f, int n) {
  const double a2 = S, a1 = -R - 4 * S;
  for (int i = 0; i < n; i++) {
    double d = 1 + 2 * R + (i == 0 || i == n - 1 ? 5 : 6) * S;
    f[i].below2 = i > 1 ? a2 / f[i - 2].diagonal : 0;
    f[i].below1 =
        i > 0 ? (a1 - (i > 1 ? f[i].below2 * f[i - 2].above1 : 0)) / f[i - 1].diagonal : 0;
    f[i].above1 = a1 - (i > 0 ? f[i].below1 * a2 : 0);
    f[i].diagonal =
        d - (i > 0 ? f[i].below1 * f[i - 1].above1 : 0) - (i > 1 ? f[i].below2 * a2 : 0);
  }
}

static void solve_line(double *u, size_t stride, int n, const factors *f) {
  for (int i = 1; i < n; i++)
    u[i * stride] -=
        f[i].below1 * u[(i - 1) * stride] + (i > 1 ? f[i].below2 * u[(i - 2) * stride] : 0);
  for (int i = n - 1; i >= 0; i--) {
    double above = i + 1 < n ? f[i].above1 * u[(i + 1) * stride] : 0;
    if (i + 2 < n)
      above += S * u[(i + 2) * stride];
    u[i * stride] = (u[i * stride] - above) / f[i].diagonal;
  }
}

int main(int argc, char **argv) {
  arguments o = parse(argc, argv, 40, 12, 4);
  const int n = o.size;
  const size_t row = n, plane = row * n;
  double *u[C];
  factors *f = array(n, sizeof *f);
  for (int c = 0; c < C; c++)
    u[c] = array(plane * n, sizeof **u);
  for (int c = 0; c < C; c++)
#pragma omp parallel for if (o.parallel)
    for (int k = 0; k < n; k++)
      for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++)
          u[c][k * plane + j * row + i] =
              (c + 1) * lowest_mode(i, n) * lowest_mode(j, n) * lowest_mode(k, n);
  factorise(f, n);
  for (int step = 0; step < o.steps; step++)
#pragma omp parallel
  {
#pragma omp for
    for (int k = 0; k < n; k++)
      for (int c = 0; c < C; c++)
        for (int j = 0; j < n; j++)
          solve_line(u[c] + k * plane + j * row, 1, n, f);
#pragma omp for
    for (int k = 0; k < n; k++)
      for (int c = 0; c < C; c++)
        for (int i = 0; i < n; i++)
          solve_line(u[c] + k * plane + i, row, n, f);
#pragma omp for
    for (int j = 0; j < n; j++)
      for (int c = 0; c < C; c++)
        for (int i = 0; i < n; i++)
          solve_line(u[c] + j * row + i, plane, n, f);
  }
  double l = lowest_eigenvalue(n), factor = pow(1 / (1 + R * l + S * l * l), 3.0 * o.steps),
         worst = 0;
  for (int c = 0; c < C; c++)
    for (int k = 0; k < n; k++)
      for (int i = 0; i < n; i++) {
        double want =
            (c + 1) * lowest_mode(i, n) * lowest_mode(n / 2, n) * lowest_mode(k, n) * factor;
        double e = fabs(u[c][k * plane + (n / 2) * row + i] - want);
        worst = e > worst ? e : worst;
      }
  for (int c = 0; c < C; c++)
    free(u[c]);
  free(f);
  return report("sp", worst, 1e-10);
}
