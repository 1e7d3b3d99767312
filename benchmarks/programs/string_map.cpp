// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A hash map from strings to strings: many small objects of many sizes.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unordered_map>
int main(int c, char **v) {
  size_t n = c > 1 ? atol(v[1]) : 1000000;
  std::unordered_map<std::string, std::string> m;
  char k[40];
  unsigned s = 1;
  for (size_t i = 0; i < n; i++) {
    s = s * 1664525 + 1013904223;
    sprintf(k, "key-%u-abcdefghijk", s);
    m[k] = std::string(20 + s % 60, 'x');
  }
  size_t t = 0;
  s = 1;
  for (size_t i = 0; i < n * 2; i++) {
    s = s * 1664525 + 1013904223;
    sprintf(k, "key-%u-abcdefghijk", s);
    auto it = m.find(k);
    if (it != m.end())
      t += it->second.size();
  }
  printf("%zu\n", t);
}
