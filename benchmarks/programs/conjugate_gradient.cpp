// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conjugate gradients on a Laplacian whose rows, columns and values grow by push_back.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>
class Matrix {
public:
  int n;
  std::vector<int> row, col;
  std::vector<double> val;
  Matrix(int d);
  void mul(const double *x, double *y) const;
};
Matrix::Matrix(int d) : n(d * d * d) {
  row.push_back(0);
  for (int i = 0; i < d; i++)
    for (int j = 0; j < d; j++)
      for (int k = 0; k < d; k++) {
        auto put = [&](int a, int b, int c, double v) {
          if (a < 0 || b < 0 || c < 0 || a >= d || b >= d || c >= d)
            return;
          col.push_back((a * d + b) * d + c);
          val.push_back(v);
        };
        put(i - 1, j, k, -1);
        put(i, j - 1, k, -1);
        put(i, j, k - 1, -1);
        put(i, j, k, 6);
        put(i, j, k + 1, -1);
        put(i, j + 1, k, -1);
        put(i + 1, j, k, -1);
        row.push_back(col.size());
      }
}
void Matrix::mul(const double *x, double *y) const {
  for (int i = 0; i < n; i++) {
    double s = 0;
    for (int k = row[i]; k < row[i + 1]; k++)
      s += val[k] * x[col[k]];
    y[i] = s;
  }
}
static double dot(int n, const double *a, const double *b) {
  double s = 0;
  for (int i = 0; i < n; i++)
    s += a[i] * b[i];
  return s;
}
int main(int c, char **v) {
  int d = c > 1 ? atoi(v[1]) : 130;
  Matrix A(d);
  int n = A.n;
  std::unique_ptr<double[]> x(new double[n]()), r(new double[n]), p(new double[n]),
      q(new double[n]);
  for (int i = 0; i < n; i++)
    r[i] = p[i] = 1;
  double rr = dot(n, r.get(), r.get());
  for (int it = 0; it < 25; it++) {
    A.mul(p.get(), q.get());
    double a = rr / dot(n, p.get(), q.get());
    for (int i = 0; i < n; i++) {
      x[i] += a * p[i];
      r[i] -= a * q[i];
    }
    double s = dot(n, r.get(), r.get());
    double b = s / rr;
    rr = s;
    for (int i = 0; i < n; i++)
      p[i] = r[i] + b * p[i];
  }
  printf("%g\n", rr);
}
