// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CG-like: conjugate gradients on a random sparse, diagonally dominant matrix. Each thread owns
// rows of the matrix and pieces of the vectors; the multiplied vector is gathered from everywhere.
// Result: the true residual must have fallen by 1e-6.
#include "kernel.h"

enum { PER_ROW = 64 };

int main(int argc, char **argv) {
  arguments o = parse(argc, argv, 10000, 16, 2 * PER_ROW);
  const int n = o.size;
  // Symmetric by construction: row i has the pairs (i, i +- d) for PER_ROW / 2 distances d, wrapped around.
  int *column = array((size_t)n * PER_ROW, sizeof *column);
  double *value = array((size_t)n * PER_ROW, sizeof *value);
  double *x = array(n, 8), *r = array(n, 8), *p = array(n, 8), *q = array(n, 8);
  int distance[PER_ROW / 2];
  for (int d = 0; d < PER_ROW / 2; d++)
    distance[d] = 1 + (int)(random_at(d) * (n / 2 - 1));
#pragma omp parallel for if (o.parallel)
  for (int i = 0; i < n; i++) {
    for (int d = 0; d < PER_ROW / 2; d++) {
      int up = (i + distance[d]) % n, down = (i + n - distance[d]) % n;
      column[(size_t)i * PER_ROW + 2 * d] = up;
      column[(size_t)i * PER_ROW + 2 * d + 1] = down;
      value[(size_t)i * PER_ROW + 2 * d] = -random_at((unsigned long long)d * n + i);
      value[(size_t)i * PER_ROW + 2 * d + 1] = -random_at((unsigned long long)d * n + down);
    }
    x[i] = 0;
    p[i] = r[i] = 1 + random_at(i);
    q[i] = 0;
  }
  double first = 0;
  for (int i = 0; i < n; i++)
    first += r[i] * r[i];
  double rho = first;
  for (int step = 0; step < o.steps; step++) {
    double pq = 0, next = 0, alpha = 0;
#pragma omp parallel
    {
#pragma omp for schedule(static) reduction(+ : pq)
      for (int i = 0; i < n; i++) {
        double sum =
            1.5 * PER_ROW / 2 * p[i]; // > the expected sum of a row's values, and spread by them
        for (int k = 0; k < PER_ROW; k++)
          sum += value[(size_t)i * PER_ROW + k] * p[column[(size_t)i * PER_ROW + k]] * 0.5;
        q[i] = sum;
        pq += p[i] * sum;
      }
#pragma omp single
      alpha = rho / pq;
#pragma omp for schedule(static) reduction(+ : next)
      for (int i = 0; i < n; i++) {
        x[i] += alpha * p[i];
        r[i] -= alpha * q[i];
        next += r[i] * r[i];
      }
#pragma omp for schedule(static)
      for (int i = 0; i < n; i++)
        p[i] = r[i] + next / rho * p[i];
    }
    rho = next;
  }
  double left = 0;
  for (int i = 0; i < n; i++) {
    double sum = 1.5 * PER_ROW / 2 * x[i];
    for (int k = 0; k < PER_ROW; k++)
      sum += value[(size_t)i * PER_ROW + k] * x[column[(size_t)i * PER_ROW + k]] * 0.5;
    double e = 1 + random_at(i) - sum;
    left += e * e;
  }
  return report("cg", sqrt(left / first), 1e-6);
}
