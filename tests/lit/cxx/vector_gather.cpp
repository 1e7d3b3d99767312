// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a vector of known length read at random pays from the reach on.
// RUN: %remarksxx -fplugin-arg-smalloc-first-touch=off %s 2>&1 | FileCheck %s
// CHECK: superpages from 8.2 MiB on{{.*}}: new of n*8 bytes in {{.*}}picked at random through loaded indices
#include <vector>
double f(unsigned long n, const std::vector<int> &index) {
  std::vector<double> v(n, 1.0);
  double s = 0;
  for (int k : index)
    s += v[k] += 1;
  return s;
}
