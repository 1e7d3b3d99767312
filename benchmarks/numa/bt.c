// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// BT-like: an implicit time step by alternating directions, block tridiagonal systems (3 x 3) along
// x, y and z. x and y are partitioned by planes of z, the z sweep by rows of y: pages have two
// kinds of users.
// Result: the lowest mode must decay by 1 / (1 + r lambda mu) for each direction and step.
#include "kernel.h"

enum { C = 3 };
static const double M[C][C] = {{2, 1, 0}, {1, 2, 1}, {0, 1, 2}};
static const double R = 0.1;

static void invert(const double a[C][C], double out[C][C]) {
  double d = 0;
  for (int i = 0; i < C; i++)
    for (int j = 0; j < C; j++) {
      int r = (j + 1) % C, s = (j + 2) % C, p = (i + 1) % C, q = (i + 2) % C;
      out[i][j] = a[r][p] * a[s][q] - a[r][q] * a[s][p];
    }
  for (int j = 0; j < C; j++)
    d += a[0][j] * out[j][0];
  for (int i = 0; i < C; i++)
    for (int j = 0; j < C; j++)
      out[i][j] /= d;
}

// (I + R D (x) M) x = u along one line of n cells, in place; D = tridiag(-1, 2, -1).
static void solve_line(double *u, size_t stride, int n, double (*gain)[C][C]) {
  for (int i = 0; i < n; i++) {
    double pivot[C][C], inverse[C][C], right[C];
    for (int a = 0; a < C; a++) {
      right[a] = u[i * stride + a];
      for (int b = 0; b < C; b++) {
        pivot[a][b] = (a == b) + 2 * R * M[a][b];
        if (i > 0) {
          right[a] += R * M[a][b] * u[(i - 1) * stride + b];
          for (int k = 0; k < C; k++)
            pivot[a][b] -= R * M[a][k] * gain[i - 1][k][b];
        }
      }
    }
    invert(pivot, inverse);
    for (int a = 0; a < C; a++) {
      double sum = 0;
      for (int b = 0; b < C; b++) {
        sum += inverse[a][b] * right[b];
        gain[i][a][b] = 0;
        for (int k = 0; k < C; k++)
          gain[i][a][b] += inverse[a][k] * R * M[k][b];
      }
      u[i * stride + a] = sum;
    }
  }
  for (int i = n - 2; i >= 0; i--)
    for (int a = 0; a < C; a++)
      for (int b = 0; b < C; b++)
        u[i * stride + a] += gain[i][a][b] * u[(i + 1) * stride + b];
}

int main(int argc, char **argv) {
  arguments o = parse(argc, argv, 40, 12, 4);
  const int n = o.size;
  const size_t row = (size_t)n * C, plane = row * n;
  double *u = array(plane * n, sizeof *u), *old = array(plane * n, sizeof *old);
  const double v[C] = {1, sqrt(2), 1}; // M v = (2 + sqrt 2) v
#pragma omp parallel for if (o.parallel)
  for (int k = 0; k < n; k++)
    for (int j = 0; j < n; j++)
      for (int i = 0; i < n; i++)
        for (int c = 0; c < C; c++) {
          size_t at = k * plane + j * row + (size_t)i * C + c;
          u[at] = lowest_mode(i, n) * lowest_mode(j, n) * lowest_mode(k, n) * v[c];
          old[at] = 0;
        }
  double change = 0;
  for (int step = 0; step < o.steps; step++) {
    change = 0;
#pragma omp parallel
    {
      double gain[n][C][C];
#pragma omp for
      for (int k = 0; k < n; k++) {
        memcpy(old + k * plane, u + k * plane, plane * sizeof *u);
        for (int j = 0; j < n; j++)
          solve_line(u + k * plane + j * row, C, n, gain);
      }
#pragma omp for
      for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++)
          solve_line(u + k * plane + (size_t)i * C, row, n, gain);
#pragma omp for
      for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++)
          solve_line(u + j * row + (size_t)i * C, plane, n, gain);
#pragma omp for reduction(max : change)
      for (int k = 0; k < n; k++)
        for (size_t at = k * plane; at < (k + 1) * plane; at++) {
          double d = fabs(u[at] - old[at]);
          change = d > change ? d : change;
        }
    }
  }
  double factor = pow(1 / (1 + R * lowest_eigenvalue(n) * (2 + sqrt(2))), 3.0 * o.steps), worst = 0;
  for (int k = 0; k < n; k++)
    for (int i = 0; i < n; i++)
      for (int c = 0; c < C; c++) {
        double want = lowest_mode(i, n) * lowest_mode(n / 2, n) * lowest_mode(k, n) * v[c] * factor;
        double e = fabs(u[k * plane + (n / 2) * row + (size_t)i * C + c] - want);
        worst = e > worst ? e : worst;
      }
  free(u);
  free(old);
  return report("bt", change > 0 ? worst : NAN, 1e-10);
}
