// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a vector filled by push_back and read at random is decided by the object's size at run time.
// RUN: %remarksxx %s 2>&1 | FileCheck %s
// CHECK: superpages from {{.*}}: new of {{.*}}picked at random through loaded indices
#include <vector>
double f(long n, const int *index, long m) {
  std::vector<double> v;
  for (long i = 0; i < n; i++)
    v.push_back(i);
  double s = 0;
  for (long i = 0; i < m; i++)
    s += v[index[i]];
  return s;
}
