// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: columns of a vector of vectors are walked through the rows' pointers.
// RUN: %remarksxx %s 2>&1 | FileCheck %s
// CHECK: superpages from {{.*}}: new of n*8 bytes in
#include <vector>
double f(unsigned long n, unsigned long m) {
  std::vector<std::vector<double>> a;
  for (unsigned long i = 0; i < n; i++)
    a.emplace_back(m, 1.0);
  double s = 0;
  for (unsigned long j = 0; j < m; j++)
    for (unsigned long i = 0; i < n; i++)
      s += a[i][j] * j;
  return s;
}
