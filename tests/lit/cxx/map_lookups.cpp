// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: the nodes of a std::map that is searched again and again are reached through pointers.
// RUN: %remarksxx %s 2>&1 | FileCheck %s
// CHECK: superpages from {{.*}} of live objects on: new of 48 bytes in
#include <map>
long f(const long *keys, long n, long m) {
  std::map<long, long> map;
  for (long i = 0; i < n; i++)
    map[keys[i]] = i;
  long s = 0;
  for (long i = 0; i < m; i++) {
    auto it = map.find(keys[i] + 1);
    if (it != map.end())
      s += it->second;
  }
  return s;
}
