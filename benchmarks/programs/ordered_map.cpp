// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A std::map that is filled and searched in random order.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
int main(int c, char **v) {
  size_t n = c > 1 ? atol(v[1]) : 1200000;
  std::map<uint64_t, uint64_t> m;
  uint64_t s = 5;
  for (size_t i = 0; i < n; i++) {
    s = s * 6364136223846793005ull + 1442695040888963407ull;
    m[s >> 16] = i;
  }
  uint64_t t = 0;
  for (size_t i = 0; i < n; i++) {
    s = s * 6364136223846793005ull + 1442695040888963407ull;
    auto it = m.lower_bound(s >> 16);
    if (it != m.end())
      t += it->second;
  }
  printf("%lu\n", t);
}
