// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: the nodes of a std::unordered_map are reached through pointers, its buckets at random.
// RUN: %remarksxx %s 2>&1 | FileCheck %s
// CHECK: superpages from {{.*}} of live objects on: new of 24 bytes in
#include <unordered_map>
long f(const long *keys, long n, long m) {
  std::unordered_map<long, long> map;
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
