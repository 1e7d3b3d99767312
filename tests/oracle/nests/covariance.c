/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * covariance of the columns of a table, triangular */
#include "nest.h"

static void means(long n, long m, const double *data, double *mean) {
  for (long j = 0; j < m; j++) {
    double s = 0;
    for (long i = 0; i < n; i++)
      s += data[i * m + j];
    mean[j] = s / 100;
  }
}

static void centre(long n, long m, double *data, const double *mean) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j < m; j++)
      data[i * m + j] -= mean[j];
}

static void products(long n, long m, const double *data, double *cov) {
  for (long i = 0; i < 20; i++)
    for (long j = i; j < m; j++) {
      double s = 0;
      for (long k = 0; k < n; k++)
        s += data[k * m + i] * data[k * m + j];
      cov[i * m + j] = s;
    }
}

int main(void) {
  SIZE(n, 500);
  SIZE(m, 700);
  double *data = ARRAY(double, n *m);
  double *mean = ARRAY(double, m);
  double *cov = ARRAY(double, m *m);
  fill(data, n * m);
  means(n, m, data, mean);
  centre(n, m, data, mean);
  products(n, m, data, cov);
  USE(cov[7]);
}
