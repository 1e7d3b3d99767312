// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: the nodes of a std::list that is walked again and again are reached through pointers.
// RUN: %remarksxx %s 2>&1 | FileCheck %s
// CHECK: superpages from {{.*}} of live objects on: new of 24 bytes in
// CHECK-SAME: reached through pointers
#include <list>
long f(long n, int rounds) {
  std::list<long> list;
  for (long i = 0; i < n; i++)
    list.push_back(i);
  long s = 0;
  for (int r = 0; r < rounds; r++)
    for (long x : list)
      s += x * r;
  return s;
}
