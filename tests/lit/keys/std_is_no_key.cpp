// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: the members of std::vector are no key (all vectors of a program would be one); its place is.
// RUN: %clangxx -O2 -c -o %t.o %s && %python %S/Inputs/keys.py %t.o | FileCheck %s
// CHECK: access {{[0-9a-f]+}} argument 1 of _Z4walk{{.*}} contents
// CHECK-NOT: struct _Vector
#include <vector>
double walk(const std::vector<double> &cells, const int *pick, long n) {
  double s = 0;
  for (long k = 0; k < 3; k++)
    for (long i = 0; i < n; i++)
      s += cells[pick[i]];
  return s;
}
