// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a matrix behind a std::unique_ptr in a class is found from its methods.
// RUN: %remarksxx %s 2>&1 | FileCheck %s
// CHECK: superpages from {{.*}}: new[] of {{.*}}walked across rows
#include <memory>
class matrix {
public:
  matrix(long rows, long columns) : Rows(rows), Columns(columns), Data(new double[rows * columns]) {}
  double &at(long i, long j) { return Data[i * Columns + j]; }
  long Rows, Columns;

private:
  std::unique_ptr<double[]> Data;
};
double f(long n, long m) {
  matrix a(n, m);
  for (long i = 0; i < n; i++)
    for (long j = 0; j < m; j++)
      a.at(i, j) = i ^ j;
  double s = 0;
  for (long j = 0; j < m; j++)
    for (long i = 0; i < n; i++)
      s += a.at(i, j) * j;
  return s;
}
