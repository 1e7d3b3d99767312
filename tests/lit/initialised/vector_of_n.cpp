// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: std::vector<double>(n) fills what it allocates.
// RUN: %remarksxx -fplugin-arg-smalloc-heap=superpage %s 2>&1 | FileCheck %s
// CHECK: superpages, at the first touch since every byte is written: new of
#include <vector>
double f(unsigned long n, unsigned long k) {
  std::vector<double> v(n);
  v[k / 2] = 1;
  return v[k];
}
